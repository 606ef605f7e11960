"""The operator tests of the `onnx` package, each served by itself and asked by HTTP binary and by gRPC.

The outside judge of datatypes and shapes. A case is passed when both protocols give the standard's values, or, where
onnxruntime itself departs from the standard, onnxruntime's. What the runtime or the protocol cannot carry is skipped
with the reason; everything else is a failure.
"""
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
import requests
from conftest import running
from wire import BY_NUMPY, Refused, grpc_stub, infer_grpc, infer_http

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    CASES = {case.name: case for case in collect_testcases("")}

onnxruntime.set_default_logger_severity(4)
# Where the standard's values are only nearly the runtime's: half types and accumulated sums.
LEAST_TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("operators")
    for name, case in CASES.items():
        folder = repository / name / "1"
        folder.mkdir(parents=True)
        onnx.save(case.model, str(folder / "model.onnx"))
    # No configuration: all of it is read from the model. No batching: the shapes are those of the file.
    with running(repository, tmp_path_factory.mktemp("log") / "server.log", "--model-control-mode=explicit",
                 "--backend-config=onnxruntime,default-max-batch-size=0") as server:
        server.session, server.stub = requests.Session(), grpc_stub(server.grpc)
        yield server


def not_carried(case) -> str | None:
    """Why the protocol has no form for the case's inputs or outputs."""
    for value in [*case.model.graph.input, *case.model.graph.output]:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return f"the protocol has no {kind.replace('_type', '')} values"
        element = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
        if element.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2", "COMPLEX")):
            return f"the protocol has no datatype for {element}"
    return None


def reference_session(case):
    return onnxruntime.InferenceSession(case.model.SerializeToString(), providers=["CPUExecutionProvider"])


def reference_run(case, feeds):
    """The runtime's own outputs."""
    session = reference_session(case)
    if not any(array.dtype.name == "bfloat16" for array in feeds.values()):
        return session.run(None, feeds)
    # numpy has no bfloat16: there such tensors go in and out as OrtValue.
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, onnx.TensorProto.BFLOAT16)
              if array.dtype.name == "bfloat16" else onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    return [value.numpy() for value in session.run_with_ort_values(None, values)]


def is_same(got: np.ndarray, right: np.ndarray, rtol: float, atol: float) -> bool:
    if got.size != right.size or got.reshape(-1).shape != right.reshape(-1).shape:
        return False
    if right.ndim and got.shape != right.shape:
        return False
    got, right = got.reshape(-1), right.reshape(-1)
    if right.dtype.kind in "OUS":
        return [e if isinstance(e, bytes) else str(e).encode() for e in got] == [e if isinstance(e, bytes) else str(e).encode() for e in right]
    if got.dtype != right.dtype:
        return False
    wide = np.float64 if got.dtype.kind not in "iub" else got.dtype
    return bool(np.allclose(got.astype(wide), right.astype(wide), rtol=max(rtol, LEAST_TOLERANCE), atol=max(atol, 1e-5), equal_nan=True))


def judge(case, outputs, right, feeds, protocol):
    """Fails unless the outputs are the standard's or the runtime's."""
    names = [value.name for value in case.model.graph.output if value.name]
    if all(is_same(outputs[name], value, case.rtol, case.atol) for name, value in zip(names, right)):
        return
    first, second = reference_run(case, feeds), reference_run(case, feeds)
    for name, one, two in zip(names, first, second):
        if one.shape == two.shape and one.tobytes() != two.tobytes():
            # A random operator: only the form can be compared.
            assert outputs[name].shape == one.shape, f"{protocol}: {name} has shape {outputs[name].shape}, the runtime gives {one.shape}"
        else:
            assert is_same(outputs[name], one, case.rtol, case.atol), f"{protocol}: {name}\n{outputs[name]}\nthe runtime gives\n{one}"


@pytest.mark.parametrize("name", sorted(CASES))
def test_operator(server, name):
    case = CASES[name]
    loaded = server.session.post(f"{server.url}/v2/repository/models/{name}/load", timeout=60)
    try:
        if loaded.status_code != 200:
            reason = not_carried(case)
            if reason is None:
                try:
                    reference_session(case)
                except Exception as error:  # pylint: disable=broad-except
                    reason = f"not supported by the runtime: {str(error).splitlines()[0][:120]}"
            if reason is None:
                pytest.fail(f"the runtime takes the model, the server does not: {loaded.text[:500]}")
            pytest.skip(reason)
        run(server, case)
    finally:
        server.session.post(f"{server.url}/v2/repository/models/{name}/unload", timeout=60)


def run(server, case):
    metadata = server.session.get(f"{server.url}/v2/models/{case.name}", timeout=10).json()
    shapes = {tensor["name"]: tensor["shape"] for tensor in metadata["inputs"]}
    for given, right in case.data_sets:
        right = [np.asarray(value) for value in right]
        inputs = {value.name: np.asarray(array) for value, array in zip(case.model.graph.input, given)}
        feeds = {key: array for key, array in inputs.items() if array.dtype.kind in "OUS" or array.dtype in BY_NUMPY}
        # A scalar has no shape in a configuration: outside it is a vector of one.
        sent = {key: array.reshape(1) if array.ndim == 0 and shapes.get(key) == [1] else array for key, array in feeds.items()}
        answers = {}
        for protocol in ("http", "grpc"):
            try:
                answers[protocol] = (infer_http(server.session, server.url, case.name, sent) if protocol == "http"
                                     else infer_grpc(server.stub, case.name, sent))
            except Refused as refused:
                try:
                    reference_run(case, feeds)
                except Exception as error:  # pylint: disable=broad-except
                    pytest.skip(f"not supported by the runtime: {str(error).splitlines()[0][:120]}")
                pytest.fail(f"{protocol}: the runtime runs it, the server does not: {refused}")
        for protocol, outputs in answers.items():
            judge(case, outputs, right, feeds, protocol)
