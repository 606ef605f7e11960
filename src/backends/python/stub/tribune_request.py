"""What a model sees of a request, and how it answers: InferenceRequest, InferenceResponse, response senders, calls."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

from tribune_tensor import Tensor, TritonModelException

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2
TRITONSERVER_MEMORY_CPU = 0
TRITONSERVER_MEMORY_GPU = 1

_CODES = (
    "UNKNOWN",
    "INTERNAL",
    "NOT_FOUND",
    "INVALID_ARG",
    "UNAVAILABLE",
    "UNSUPPORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
)

# The connection of this process and its settings; set once by the stub before a model is imported.
server = None


class Server:
    """What requests and senders need of the process they live in."""

    def __init__(self, channel, is_decoupled, thread_count):
        self.channel = channel
        self.is_decoupled = is_decoupled
        self.thread_count = thread_count
        self._calls = {}
        self._next_call = 0
        self._lock = threading.Lock()
        self._pool = None
        channel.handlers["a"] = self._answered
        channel.handlers["p"] = self._responded

    def begin(self, queue):
        """A fresh call number whose answers go to `queue`."""
        with self._lock:
            self._next_call += 1
            self._calls[self._next_call] = queue
            return self._next_call

    def end(self, call):
        with self._lock:
            self._calls.pop(call, None)

    def ask(self, method, tail=b"", **fields):
        """A question with one answer; raises TritonModelException when the server refuses."""
        queue = []
        call = self.begin(queue)
        try:
            self.channel.send({"t": "call", "c": call, "m": method, **fields}, tail)
            self.channel.wait(lambda: queue)
        finally:
            self.end(call)
        answer = queue[0][0]
        if answer.get("e") is not None:
            raise TritonModelException(answer["e"])
        return answer.get("v")

    def pool(self):
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.thread_count, thread_name_prefix="bls")
            return self._pool

    def _answered(self, message, tail):
        queue = self._calls.get(message["c"])
        if queue is not None:
            queue.append((message, tail))

    def _responded(self, message, tail):
        # Views are taken here, so that memory of a call nobody waits for goes back at once.
        queue = self._calls.get(message["c"])
        response = received_response(self.channel, message, tail)
        if queue is not None:
            queue.append((response, message["final"]))


class ReceivedTensors:
    """The tensors of one frame. One lease covers all of them that lie in shared memory."""

    __slots__ = ("_tail", "_lease", "_start")

    def __init__(self, channel, tail, region, key):
        self._tail, self._lease, self._start = tail, None, 0
        if region is not None:
            where, self._start, size = region
            self._lease = channel.lease(where, self._start, size, key)

    def read(self, entries, names=None):
        """Tensors over the places that the server named; `names` where entries carry indexes into it."""
        tensors = []
        for index, code, shape, where, offset, size in entries:
            if where < 0:
                raw = memoryview(self._tail)[offset : offset + size] if size else bytearray()
            else:
                start = offset - self._start
                raw = self._lease[start : start + size]
            tensors.append(Tensor._received(index if names is None else names[index], code, shape, raw))
        return tensors


def received_response(channel, message, tail):
    """An InferenceResponse from a `p` frame; None for an end without a response."""
    if message.get("e") is not None:
        code, text = message["e"]
        return InferenceResponse([], TritonError(text, _CODES.index(code)))
    if message.get("o") is None:
        return None
    tensors = ReceivedTensors(channel, tail, message.get("l"), message.get("k")).read(message["o"])
    response = InferenceResponse(tensors)
    response._parameters = message.get("p") or "{}"
    return response


class TritonError:
    """Why a request failed: a text and a code."""

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)
    __slots__ = ("_message", "_code")

    def __init__(self, message, code=INTERNAL):
        if not isinstance(message, str):
            raise TypeError(f"TritonError takes a text, not {type(message).__name__}")
        self._message, self._code = message, int(code)
        if not 0 <= self._code < len(_CODES):
            raise TypeError(f"TritonError: unknown code {code}")

    def message(self):
        return self._message

    def code(self):
        return self._code

    def _wire(self):
        return [_CODES[self._code], self._message]


class InferenceResponse:
    """Output tensors, or an error, for one request."""

    __slots__ = ("_tensors", "_error", "_parameters")

    def __init__(self, output_tensors=(), error=None, parameters=None):
        tensors = list(output_tensors)
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    "InferenceResponse: output_tensors must hold pb_utils.Tensor objects, "
                    f"found {type(tensor).__name__}"
                )
        if error is not None and not isinstance(error, TritonError):
            raise TypeError(f"InferenceResponse: error must be a TritonError, found {type(error).__name__}")
        self._tensors, self._error = tensors, error
        self._parameters = parameters_json(parameters)

    def output_tensors(self):
        return self._tensors

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return self._parameters

    def _wire(self, channel, wanted, tail):
        """{"e": error} or {"o": outputs, "p": parameters}."""
        if self._error is not None:
            return {"e": self._error._wire()}
        outputs = [t._place(channel, tail) for t in self._tensors if wanted is None or t._name in wanted]
        if self._parameters == "{}":
            return {"o": outputs}
        return {"o": outputs, "p": self._parameters}


def parameters_json(parameters):
    """Parameters as JSON text; only bool, int and str values under str keys are allowed, as in Triton."""
    if not parameters:
        return "{}"
    if isinstance(parameters, str):
        return parameters
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException(f"Expect parameters keys to have type str, found type {type(key)}")
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException(
                f"Expect parameters values to have type bool/int/str, found type {type(value)}"
            )
    return json.dumps(parameters, ensure_ascii=False, separators=(",", ":"))


class Responder:
    """The one place where answers to a request leave, shared by the request and its senders."""

    __slots__ = ("key", "wanted", "is_closed", "sent_count", "is_cancelled", "was_taken", "__weakref__")

    def __init__(self, key, wanted):
        self.key, self.wanted = key, wanted
        self.is_closed = False
        self.sent_count = 0
        self.is_cancelled = False
        self.was_taken = False

    def send(self, response, flags):
        if self.is_closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")
        if flags not in (0, TRITONSERVER_RESPONSE_COMPLETE_FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if response is None:
            if flags == 0:
                raise TritonModelException(
                    "Inference Response object must be provided when the response flags is set to zero."
                )
            if not server.is_decoupled and self.sent_count == 0:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send complete final before sending a response."
                )
        elif not isinstance(response, InferenceResponse):
            raise TypeError(f"send takes an InferenceResponse, found {type(response).__name__}")
        elif not server.is_decoupled and self.sent_count == 1:
            raise TritonModelException(
                "Unable to send response. Non-decoupled model cannot send more than one response."
            )
        self.deliver(response, flags)

    def deliver(self, response, flags):
        tail = bytearray()
        frame = {"t": "s", "r": self.key, "f": flags}
        if response is not None:
            frame.update(response._wire(server.channel, self.wanted, tail))
            self.sent_count += 1
        if flags:
            self.is_closed = True
        server.channel.send(frame, tail)

    def fail(self, error):
        if not self.is_closed:
            self.deliver(InferenceResponse([], error), TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def __del__(self):
        # Nobody can answer any more: without an end the caller would wait for ever.
        if self.is_closed or not self.was_taken or server is None:
            return
        frame = {"t": "s", "r": self.key, "f": TRITONSERVER_RESPONSE_COMPLETE_FINAL}
        if not server.is_decoupled and self.sent_count == 0:
            frame["e"] = ["INTERNAL", "The model dropped the request's response sender without sending a response."]
        server.channel.send_later(frame)


class InferenceResponseSender:
    """Sends the responses of one request, from any thread."""

    __slots__ = ("_responder",)

    def __init__(self, responder):
        self._responder = responder

    def send(self, response=None, flags=0):
        self._responder.send(response, int(flags))

    def is_cancelled(self):
        if not self._responder.is_cancelled:
            server.channel.poll()
        return self._responder.is_cancelled


class PreferredMemory:
    """Where a caller wants the outputs of a call. Only CPU memory exists without a device."""

    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self.memory_type, self.device_id = preferred_memory_type, preferred_device_id


class InferenceTrace:
    """The trace a request belongs to."""

    def __init__(self, context=None):
        self._context = context

    def get_context(self):
        return self._context


class InferenceRequest:
    """A request that came to the model, or one that the model makes to call another."""

    __slots__ = (
        "_inputs",
        "_requested",
        "_id",
        "_correlation",
        "_flags",
        "_timeout",
        "_parameters",
        "_responder",
        "_release",
        "_model",
        "_version",
        "_trace",
    )

    def __init__(
        self,
        request_id="",
        correlation_id=0,
        inputs=None,
        requested_output_names=None,
        model_name=None,
        model_version=-1,
        flags=0,
        timeout=0,
        preferred_memory=None,
        trace=None,
        parameters=None,
    ):
        if (
            not isinstance(model_name, str)
            or inputs is None
            or requested_output_names is None
            or not all(isinstance(i, Tensor) for i in inputs)
            or not all(isinstance(n, str) for n in requested_output_names)
        ):
            raise TypeError(
                "InferenceRequest(): incompatible constructor arguments. model_name (str), inputs (list of "
                "pb_utils.Tensor) and requested_output_names (list of str) are needed as keywords."
            )
        if isinstance(correlation_id, bool) or not isinstance(correlation_id, (int, str)):
            raise TritonModelException("Correlation ID must be integer or string")
        self._inputs, self._requested = list(inputs), list(requested_output_names)
        self._id, self._correlation = request_id, correlation_id
        self._flags, self._timeout = flags, timeout
        self._parameters = parameters_json(parameters)
        self._responder, self._release = None, TRITONSERVER_REQUEST_RELEASE_ALL
        self._model, self._version = model_name, model_version
        self._trace = trace

    @classmethod
    def _received(cls, entry, output_names, responder):
        """A request of an `x` frame: [key, id, correlation id, flags, timeout, parameters, wanted, …]."""
        request = cls.__new__(cls)
        _, request._id, request._correlation, request._flags, request._timeout, request._parameters, wanted = entry[:7]
        request._requested = output_names if wanted is None else wanted
        request._responder = responder
        request._release = TRITONSERVER_REQUEST_RELEASE_ALL
        request._model = request._trace = None
        request._version = -1
        return request

    def inputs(self):
        return self._inputs

    def requested_output_names(self):
        return list(self._requested)

    def request_id(self):
        return self._id

    def correlation_id(self):
        return self._correlation

    def flags(self):
        return self._flags

    def set_flags(self, flags):
        self._flags = flags

    def timeout(self):
        return self._timeout

    def parameters(self):
        return self._parameters

    def trace(self):
        return self._trace or InferenceTrace()

    def set_release_flags(self, flags):
        self._release = flags

    def is_cancelled(self):
        if self._responder is None:
            return False
        if not self._responder.is_cancelled:
            server.channel.poll()
        return self._responder.is_cancelled

    def get_response_sender(self):
        if self._responder is None:
            raise TritonModelException("A request that the model made itself has no response sender.")
        self._responder.was_taken = True
        return InferenceResponseSender(self._responder)

    # ---- calling another model

    def exec(self, decoupled=False):
        """Runs the request on its model: an InferenceResponse, or an iterator over them with `decoupled`."""
        iterator = ResponseIterator(self._call(decoupled))
        if decoupled:
            return iterator
        responses = list(iterator)
        return responses[0] if responses else InferenceResponse([])

    def async_exec(self, decoupled=False):
        """The same as an awaitable; needs a running event loop."""
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(server.pool(), self.exec, decoupled)

    def _call(self, decoupled):
        queue = []
        call = server.begin(queue)
        tail = bytearray()
        inputs = [tensor._place(server.channel, tail) for tensor in self._inputs]
        frame = {
            "t": "call",
            "c": call,
            "m": "infer",
            "model": self._model,
            "version": self._version,
            "id": self._id,
            # Text, because a uint64 does not fit a JSON number of every reader.
            "corr": self._correlation if isinstance(self._correlation, str) else [str(self._correlation)],
            "flags": self._flags,
            "timeout": self._timeout,
            "params": self._parameters,
            "i": inputs,
            "o": self._requested,
            "decoupled": bool(decoupled),
        }
        server.channel.send(frame, tail)
        return call, queue


class ResponseIterator:
    """The responses of a call, in order, as they come."""

    def __init__(self, call_and_queue):
        self._call, self._queue = call_and_queue
        self._taken = 0
        self._is_over = False

    def __iter__(self):
        # As in Triton, iterating again gives the same responses again.
        self._taken = 0
        return self

    def __next__(self):
        if self._is_over and self._taken == len(self._queue):
            raise StopIteration
        server.channel.wait(lambda: len(self._queue) > self._taken)
        response, is_final = self._queue[self._taken]
        self._taken += 1
        if is_final:
            self._is_over = True
            server.end(self._call)
        return InferenceResponse([]) if response is None else response

    def cancel(self):
        """Stops the call: no more responses are wanted."""
        if not self._is_over:
            server.channel.send({"t": "call", "c": 0, "m": "cancel", "call": self._call})

    def __del__(self):
        if not self._is_over and server is not None:
            self._is_over = True
            server.end(self._call)
            server.channel.send_later({"t": "call", "c": 0, "m": "cancel", "call": self._call})


def get_input_tensor_by_name(inference_request, name):
    """The input of that name, None when the request has none."""
    for tensor in inference_request.inputs():
        if tensor._name == name:
            return tensor
    return None


def get_output_tensor_by_name(inference_response, name):
    """The output of that name, None when the response has none."""
    for tensor in inference_response.output_tensors():
        if tensor._name == name:
            return tensor
    return None
