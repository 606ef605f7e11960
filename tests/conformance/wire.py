"""The protocol by hand, for judges that want every datatype: numpy arrays to bytes and back over HTTP and gRPC."""
import json
import struct

import grpc
import ml_dtypes
import numpy as np
import requests
from tritonclient.grpc import service_pb2, service_pb2_grpc

LENGTH_HEADER = "Inference-Header-Content-Length"
DATATYPES = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
    "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    "BF16": ml_dtypes.bfloat16, "BYTES": np.object_,
}
BY_NUMPY = {np.dtype(kind): name for name, kind in DATATYPES.items()}


class Refused(Exception):
    """The server answered with an error."""


def to_wire(array: np.ndarray) -> tuple[str, bytes]:
    """(datatype, raw bytes) of an array."""
    if array.dtype.kind in "OUS":
        elements = [e if isinstance(e, bytes) else str(e).encode() for e in array.reshape(-1).tolist()]
        return "BYTES", b"".join(struct.pack("<I", len(e)) + e for e in elements)
    return BY_NUMPY[array.dtype], np.ascontiguousarray(array).tobytes()


def from_wire(datatype: str, shape, blob: bytes) -> np.ndarray:
    """The array of raw bytes; BYTES elements stay bytes."""
    if datatype != "BYTES":
        return np.frombuffer(blob, DATATYPES[datatype]).reshape(shape)
    elements, at = [], 0
    while at < len(blob):
        (length,) = struct.unpack_from("<I", blob, at)
        elements.append(blob[at + 4:at + 4 + length])
        at += 4 + length
    array = np.empty(len(elements), object)
    array[:] = elements
    return array.reshape(shape)


def infer_http(session: requests.Session, url: str, model: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inference with every tensor in binary form."""
    heads, blobs = [], []
    for name, array in inputs.items():
        datatype, blob = to_wire(array)
        heads.append({"name": name, "datatype": datatype, "shape": list(array.shape), "parameters": {"binary_data_size": len(blob)}})
        blobs.append(blob)
    head = json.dumps({"inputs": heads, "parameters": {"binary_data_output": True}}).encode()
    response = session.post(f"{url}/v2/models/{model}/infer", data=head + b"".join(blobs), headers={LENGTH_HEADER: str(len(head))}, timeout=60)
    if response.status_code != 200:
        raise Refused(f"{response.status_code} {response.text[:300]}")
    # Where no output has any bytes, the whole body is JSON and there is no such header.
    size = int(response.headers.get(LENGTH_HEADER, len(response.content)))
    tail, at, outputs = response.content[size:], 0, {}
    for output in json.loads(response.content[:size])["outputs"]:
        length = output["parameters"]["binary_data_size"]
        outputs[output["name"]] = from_wire(output["datatype"], output["shape"], tail[at:at + length])
        at += length
    assert at == len(tail), "bytes after the last output"
    return outputs


def infer_grpc(stub: service_pb2_grpc.GRPCInferenceServiceStub, model: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inference with raw contents."""
    request = service_pb2.ModelInferRequest(model_name=model)
    for name, array in inputs.items():
        datatype, blob = to_wire(array)
        request.inputs.add(name=name, datatype=datatype, shape=array.shape)
        request.raw_input_contents.append(blob)
    try:
        answer = stub.ModelInfer(request, timeout=60)
    except grpc.RpcError as error:
        raise Refused(f"{error.code().name} {error.details()[:300]}") from error
    return {output.name: from_wire(output.datatype, list(output.shape), blob)
            for output, blob in zip(answer.outputs, answer.raw_output_contents, strict=True)}


def grpc_stub(address: str) -> service_pb2_grpc.GRPCInferenceServiceStub:
    """A stub without message limits."""
    channel = grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)])
    return service_pb2_grpc.GRPCInferenceServiceStub(channel)
