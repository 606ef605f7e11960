"""The module that models import as pb_utils. Names and behaviour follow Triton's Python backend."""

from tribune_request import (
    TRITONSERVER_MEMORY_CPU,
    TRITONSERVER_MEMORY_GPU,
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_END,
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_START,
    TRITONSERVER_REQUEST_RELEASE_ALL,
    TRITONSERVER_REQUEST_RELEASE_RESCHEDULE,
    TRITONSERVER_RESPONSE_COMPLETE_FINAL,
    InferenceRequest,
    InferenceResponse,
    InferenceResponseSender,
    InferenceTrace,
    PreferredMemory,
    ResponseIterator,
    TritonError,
    get_input_tensor_by_name,
    get_output_tensor_by_name,
)
from tribune_services import (
    Logger,
    Metric,
    MetricFamily,
    ModelConfig,
    get_input_config_by_name,
    get_output_config_by_name,
    is_model_ready,
    load_model,
    unload_model,
    using_decoupled_model_transaction_policy,
)
from tribune_tensor import (
    Tensor,
    TritonModelException,
    deserialize_bytes_tensor,
    numpy_to_triton_type,
    serialize_byte_tensor,
    triton_string_to_numpy,
    triton_to_numpy_type,
)

_version_directory = ""


def get_model_dir():
    """The folder of the version that runs."""
    return _version_directory


__all__ = [name for name in dir() if not name.startswith("_")]
