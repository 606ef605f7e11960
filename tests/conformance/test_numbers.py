"""The served models give the numbers that onnxruntime gives in Python, one by one and from 32 clients at once."""
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import onnxruntime
import pytest
import requests
from conftest import ROOT
from wire import grpc_stub, infer_grpc, infer_http

TOLERANCE = 1e-5
CLIENTS = 32
REQUESTS_A_CLIENT = 4
# Rows of the requests; the models that batch get several at once.
ROWS = [1, 2, 3]


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


# {model: (makes inputs from a random generator and a number of rows, whether it batches)}
MODELS = {
    "digits": (lambda rng, rows: {"image": rng.integers(0, 17, (rows, 64)).astype(np.float32)}, True),
    "add_sub": (lambda rng, rows: {name: rng.integers(-2**30, 2**30, (rows, 16)).astype(np.int32) for name in ("INPUT0", "INPUT1")}, True),
    "greet": (lambda rng, rows: {"name": np.array([[f"{rng.integers(1e9)}ü", ""] for _ in range(rows)], object)}, True),
    "standardize": (lambda rng, rows: {"x": normal(rng, rows, 7)}, True),
    "magika": (lambda rng, rows: {"bytes": rng.integers(0, 257, (rows, 2048)).astype(np.int32)}, True),
    "silero_vad": (lambda rng, rows: {"input": normal(rng, rows, 576), "state": np.zeros((2, rows, 128), np.float32),
                                      "sr": np.array([16000], np.int64)}, False),
    "rapidocr_cls": (lambda rng, rows: {"x": normal(rng, rows, 3, 48, 192)}, True),
    "rapidocr_rec": (lambda rng, rows: {"x": normal(rng, rows, 3, 48, 96)}, True),
    "rapidocr_det": (lambda rng, rows: {"x": normal(rng, rows, 3, 64, 96)}, True),
}


@lru_cache
def reference(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(ROOT / "models" / model / "1" / "model.onnx"), options, providers=["CPUExecutionProvider"])


def expected(model, inputs):
    session = reference(model)
    fed = {one.name: inputs[one.name].reshape([]) if one.shape == [] else inputs[one.name] for one in session.get_inputs()}
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, fed)))


def check(model, inputs, outputs):
    for name, right in expected(model, inputs).items():
        got = outputs[name]
        if right.dtype.kind == "O":
            assert [text.decode() for text in got.reshape(-1)] == right.reshape(-1).tolist()
        else:
            assert got.shape == right.shape and got.dtype == right.dtype
            np.testing.assert_allclose(got, right, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{model} {name}")


@pytest.fixture(params=list(MODELS))
def model(request):
    if not (ROOT / "models" / request.param).is_dir():
        pytest.skip(f"models/{request.param} is not here: run `make models`")
    return request.param


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_one_request_after_the_other(example, model, protocol):
    rng = np.random.default_rng(1)
    make, _ = MODELS[model]
    session, stub = requests.Session(), grpc_stub(example.grpc)
    for rows in ROWS:
        inputs = make(rng, rows)
        check(model, inputs, infer_http(session, example.url, model, inputs) if protocol == "http" else infer_grpc(stub, model, inputs))


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_from_many_clients_at_once(example, model, protocol):
    make, batches = MODELS[model]

    def client(number):
        rng = np.random.default_rng(number)
        session, stub = requests.Session(), grpc_stub(example.grpc)
        answers = []
        for turn in range(REQUESTS_A_CLIENT):
            inputs = make(rng, ROWS[(number + turn) % len(ROWS)] if batches else 1)
            answers.append((inputs, infer_http(session, example.url, model, inputs) if protocol == "http" else infer_grpc(stub, model, inputs)))
        return answers

    with ThreadPoolExecutor(CLIENTS) as pool:
        for answers in list(pool.map(client, range(CLIENTS))):
            for inputs, outputs in answers:
                check(model, inputs, outputs)


def test_requests_at_once_are_executed_in_batches(example):
    """Otherwise the comparison above would say nothing about batching."""
    before = requests.get(f"{example.url}/v2/models/digits/stats", timeout=10).json()["model_stats"][0]
    test_from_many_clients_at_once(example, "digits", "grpc")
    after = requests.get(f"{example.url}/v2/models/digits/stats", timeout=10).json()["model_stats"][0]
    requests_done = after["inference_stats"]["success"]["count"] - before["inference_stats"]["success"]["count"]
    assert requests_done == CLIENTS * REQUESTS_A_CLIENT
    assert after["execution_count"] - before["execution_count"] < requests_done
