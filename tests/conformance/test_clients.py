"""Triton's own Python clients, in every style they have, against the example models."""
import asyncio
import threading

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.grpc.aio as grpcaio
import tritonclient.http as httpclient
import tritonclient.http.aio as httpaio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tritonclient.utils import InferenceServerException

A = np.arange(16, dtype=np.int32).reshape(1, 16)
B = np.full((1, 16), 3, dtype=np.int32)
REQUESTS_AT_ONCE = 50
MODELS = ["add_sub", "digits", "greet", "standardize"]


def sum_inputs(library, a=A, b=B):
    inputs = [library.InferInput("INPUT0", list(a.shape), "INT32"), library.InferInput("INPUT1", list(b.shape), "INT32")]
    inputs[0].set_data_from_numpy(a)
    inputs[1].set_data_from_numpy(b)
    return inputs


def check_sum(result, a=A, b=B):
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), a + b)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), a - b)


@pytest.fixture(params=["http", "grpc"])
def client(request, example):
    """(library, client) of both protocols."""
    library, address = (httpclient, example.http) if request.param == "http" else (grpcclient, example.grpc)
    made = library.InferenceServerClient(address)
    yield library, made
    made.close()


def test_a_client_sees_a_live_and_ready_server_and_its_models(client):
    library, client = client
    assert client.is_server_live() and client.is_server_ready()
    assert all(client.is_model_ready(model) for model in MODELS)
    if library is httpclient:
        assert not client.is_model_ready("no_such_model")
    else:
        with pytest.raises(InferenceServerException, match="unknown model"):
            client.is_model_ready("no_such_model")


def test_a_client_reads_metadata_config_statistics_and_index(client):
    library, client = client
    as_dict = {} if library is httpclient else {"as_json": True}
    metadata = client.get_model_metadata("add_sub", **as_dict)
    assert metadata["name"] == "add_sub" and [tensor["name"] for tensor in metadata["inputs"]] == ["INPUT0", "INPUT1"]
    config = client.get_model_config("add_sub", **as_dict)
    assert (config.get("config") or config)["max_batch_size"] == 8
    assert "model_repository" in client.get_server_metadata(**as_dict)["extensions"]
    assert client.get_inference_statistics("add_sub", **as_dict)["model_stats"][0]["name"] == "add_sub"
    index = client.get_model_repository_index(**as_dict)
    assert set(MODELS) <= {model["name"] for model in (index["models"] if isinstance(index, dict) else index)}


def test_a_client_infers_and_gets_the_id_back(client):
    library, client = client
    result = client.infer("add_sub", sum_inputs(library), request_id="seven")
    check_sum(result)
    response = result.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "seven"


def test_a_client_gets_only_the_outputs_it_asks_for(client):
    library, client = client
    result = client.infer("add_sub", sum_inputs(library), outputs=[library.InferRequestedOutput("OUTPUT1")])
    assert result.as_numpy("OUTPUT0") is None
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), A - B)


def test_text_goes_in_and_out(client):
    library, client = client
    names = np.array([["Ada", "Grace", "Zoë", ""]], dtype=object)
    name = library.InferInput("name", list(names.shape), "BYTES")
    name.set_data_from_numpy(names)
    greeting = client.infer("greet", [name]).as_numpy("greeting")
    assert [text.decode() for text in greeting[0]] == [f"Hello, {text}!" for text in names[0]]


def test_a_classification_names_the_digit(client):
    library, client = client
    image = library.InferInput("image", [1, 64], "FP32")
    image.set_data_from_numpy(np.zeros((1, 64), np.float32))
    wanted = library.InferRequestedOutput("probabilities", class_count=2)
    best, second = client.infer("digits", [image], outputs=[wanted]).as_numpy("probabilities")[0]
    value, index, label = best.decode().split(":")
    assert label in ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine") and int(index) in range(10)
    assert float(value) >= float(second.decode().split(":")[0])


def test_a_bad_request_is_an_exception_with_a_message_and_the_next_one_works(client):
    library, client = client
    wide = np.zeros((1, 17), np.int32)
    with pytest.raises(InferenceServerException, match="unexpected shape for input"):
        client.infer("add_sub", sum_inputs(library, wide, wide))
    with pytest.raises(InferenceServerException, match="unknown model"):
        client.infer("no_such_model", sum_inputs(library))
    check_sum(client.infer("add_sub", sum_inputs(library)))


def test_http_requests_on_many_connections(example):
    with httpclient.InferenceServerClient(example.http, concurrency=16) as client:
        pending = [client.async_infer("add_sub", sum_inputs(httpclient, A + i, B)) for i in range(REQUESTS_AT_ONCE)]
        for i, request in enumerate(pending):
            check_sum(request.get_result(), A + i, B)


def test_http_compressed_and_json_bodies(example):
    with httpclient.InferenceServerClient(example.http) as client:
        for algorithm in ("gzip", "deflate"):
            check_sum(client.infer("add_sub", sum_inputs(httpclient), request_compression_algorithm=algorithm))
        inputs = sum_inputs(httpclient)
        for tensor, array in zip(inputs, (A, B)):
            tensor.set_data_from_numpy(array, binary_data=False)
        check_sum(client.infer("add_sub", inputs, outputs=[httpclient.InferRequestedOutput(name, binary_data=False) for name in ("OUTPUT0", "OUTPUT1")]))


def test_http_asyncio(example):
    async def run():
        async with httpaio.InferenceServerClient(example.http) as client:
            results = await asyncio.gather(*(client.infer("add_sub", sum_inputs(httpaio, A + i, B)) for i in range(REQUESTS_AT_ONCE)))
            for i, result in enumerate(results):
                check_sum(result, A + i, B)

    asyncio.run(run())


def test_grpc_asyncio(example):
    async def run():
        async with grpcaio.InferenceServerClient(example.grpc) as client:
            results = await asyncio.gather(*(client.infer("add_sub", sum_inputs(grpcaio, A + i, B)) for i in range(REQUESTS_AT_ONCE)))
            for i, result in enumerate(results):
                check_sum(result, A + i, B)

    asyncio.run(run())


def test_grpc_callbacks(example):
    results, errors, all_there = {}, [], threading.Event()

    def on_result(number):
        def callback(result, error):
            if error:
                errors.append(error)
            results[number] = result
            if len(results) == REQUESTS_AT_ONCE:
                all_there.set()
        return callback

    with grpcclient.InferenceServerClient(example.grpc) as client:
        for i in range(REQUESTS_AT_ONCE):
            client.async_infer("add_sub", sum_inputs(grpcclient, A + i, B), on_result(i))
        assert all_there.wait(30)
    assert not errors
    for i, result in results.items():
        check_sum(result, A + i, B)


def test_grpc_compression(example):
    with grpcclient.InferenceServerClient(example.grpc) as client:
        for algorithm in ("gzip", "deflate"):
            check_sum(client.infer("add_sub", sum_inputs(grpcclient), compression_algorithm=algorithm))


def test_grpc_deadlines_that_are_kept_do_no_harm(example):
    with grpcclient.InferenceServerClient(example.grpc) as client:
        check_sum(client.infer("add_sub", sum_inputs(grpcclient), client_timeout=30))


def test_grpc_health_service(example):
    import grpc
    with grpc.insecure_channel(example.grpc) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "inference.GRPCInferenceService"):
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_metrics_count_what_was_asked(example):
    import requests

    def success():
        lines = requests.get(f"http://{example.metrics}/metrics", timeout=10).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith('nv_inference_request_success{') and 'model="standardize"' in line)

    before = success()
    with httpclient.InferenceServerClient(example.http) as client:
        x = httpclient.InferInput("x", [2, 5], "FP32")
        x.set_data_from_numpy(np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32))
        for _ in range(3):
            client.infer("standardize", [x])
    assert success() == before + 3
