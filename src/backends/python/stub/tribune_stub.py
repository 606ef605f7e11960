"""The process of one model instance: opens model.py, then runs the batches that the server sends.

Started by the server as `python3 -X utf8 tribune_stub.py <socket path> <first segment bytes>`.
"""

import asyncio
import gc
import importlib
import inspect
import os
import signal
import sys
import threading
import time
import traceback
import weakref

import tribune_request
import triton_python_backend_utils as pb_utils
from tribune_channel import Channel, die_with_parent
from tribune_request import InferenceRequest, InferenceResponse, ReceivedTensors, Responder, TritonError

FINAL = tribune_request.TRITONSERVER_RESPONSE_COMPLETE_FINAL
RESCHEDULE = tribune_request.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE
HERE = os.path.dirname(os.path.abspath(__file__))


class LoadError(Exception):
    """Why a model cannot be opened; its text goes to the user as it is."""


def describe(error):
    """An exception as text: its type and message, then the places it passed through, innermost first."""
    text = f"{type(error).__name__}: {error}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((HERE, "<frozen"))]
    if not frames:
        return text
    places = "".join(f"\n  {f.filename}({f.lineno}): {f.name}" for f in reversed(frames))
    return f"{text}\n\nAt:{places}\n"


class Stub:
    """One instance of a model."""

    def __init__(self, channel):
        self.channel = channel
        self.inbox = []
        # Weak: a responder that nobody holds any more ends its request.
        self.responders = weakref.WeakValueDictionary()
        self.model = self.module = None
        self.loop = None
        for kind in ("open", "initialize", "x", "h", "z"):
            channel.handlers[kind] = self._queue
        channel.handlers["k"] = self._cancel

    def run(self):
        steps = {"open": self.open, "initialize": self.initialize, "x": self.execute, "h": self.is_ready}
        while True:
            self.channel.flush_released()
            self.channel.wait(lambda: self.inbox)
            message, tail = self.inbox.pop(0)
            if message["t"] == "z":
                self.finalize()
                return
            steps[message["t"]](message, tail)

    def _queue(self, message, tail):
        self.inbox.append((message, tail))

    def _cancel(self, message, _):
        responder = self.responders.get(message["r"])
        if responder is not None:
            responder.is_cancelled = True

    # ---- loading

    def open(self, message, _):
        """Imports the source and, where the server asks for it, lets it complete its configuration."""
        self._attempt("opened", lambda: self._open(message))

    def _open(self, message):
        pb_utils._version_directory = message["version_directory"]
        sys.path[:0] = [message["version_directory"], message["model_directory"]]
        path = os.path.join(message["version_directory"], message["filename"])
        if not os.path.isfile(path):
            raise LoadError(f"Python model file not found in '{path}'")
        if not path.endswith(".py"):
            raise LoadError(f"Model name must end with '.py'. Model name is \"{message['filename']}\".")
        version = os.path.basename(message["version_directory"])
        self.module = importlib.import_module(f"{version}.{message['filename'][:-3]}")
        self.source = path
        self.type = self.module.TritonPythonModel
        if message["config"] is None or not hasattr(self.type, "auto_complete_config"):
            return {"config": None}
        completed = self.type.auto_complete_config(pb_utils.ModelConfig(message["config"]))
        if not isinstance(completed, pb_utils.ModelConfig):
            raise LoadError(
                f"auto_complete_config function in model '{message['name']}' must return a valid pb.ModelConfig object."
            )
        return {"config": completed.as_dict()}

    def initialize(self, message, _):
        """Makes the model object."""
        self._attempt("initialized", lambda: self._initialize(message))

    def _initialize(self, message):
        self.instance_name = message["args"]["model_instance_name"]
        self.input_names, self.output_names = message["inputs"], message["outputs"]
        tribune_request.server.is_decoupled = self.is_decoupled = message["decoupled"]
        self.model = self.type()
        if hasattr(self.model, "initialize"):
            self.model.initialize(message["args"])
        gc.collect()
        gc.freeze()
        return {"has_is_ready": hasattr(self.model, "is_ready")}

    def _attempt(self, done, step):
        try:
            answer = step()
        except LoadError as error:
            self.channel.send({"t": "failed", "e": str(error)})
        except BaseException as error:
            self.channel.send({"t": "failed", "e": describe(error)})
        else:
            self.channel.send({"t": done, **answer})

    # ---- running

    def execute(self, message, tail):
        """Runs one batch and answers it in one frame, but for what response senders have sent or will send."""
        started = time.perf_counter_ns()
        requests = self._requests(message, tail)
        ready = time.perf_counter_ns()
        try:
            if self.is_decoupled:
                self._execute_decoupled(requests)
                results = [self._left_over(r) for r in requests]
            else:
                results = self._execute(requests)
            error = None
        except BaseException as thrown:
            error = self._failure(thrown)
            results = None
        finished = time.perf_counter_ns()
        reply_tail = bytearray()
        wire = None
        if results is not None:
            try:
                wire = [self._wire(r, result, reply_tail) for r, result in zip(requests, results)]
            except BaseException as thrown:
                error, reply_tail = self._failure(thrown), bytearray()
        for request in requests:
            responder = request._responder
            # What was answered in this frame, or failed with it, is over; a sender that was taken may go on.
            if error is not None or not responder.was_taken:
                self.responders.pop(responder.key, None)
                if error is None or not responder.was_taken:
                    responder.is_closed = True
        if error is not None:
            self._fail_taken(requests, error)
        self.channel.send(
            {
                "t": "d",
                "b": message["b"],
                "e": error,
                "rs": wire,
                "n": [ready - started, finished - ready, time.perf_counter_ns() - finished],
            },
            reply_tail,
        )

    def _requests(self, message, tail):
        requests = []
        received = ReceivedTensors(self.channel, tail, message.get("l"), message["b"])
        for entry in message["r"]:
            responder = Responder(entry[0], entry[6])
            self.responders[entry[0]] = responder
            request = InferenceRequest._received(entry, self.output_names, responder)
            correlation = request._correlation
            if isinstance(correlation, list):
                request._correlation = int(correlation[0])
            request._inputs = received.read(entry[7], self.input_names)
            requests.append(request)
        return requests

    def _run(self, requests):
        execute = getattr(self.model, "execute", None)
        if execute is None:
            raise LoadError(f"{self.source} does not implement `execute` method.")
        return execute(requests)

    def _execute(self, requests):
        responses = self._run(requests)
        if inspect.iscoroutine(responses):
            responses = asyncio.run(responses)
        if responses is None:
            responses = [None] * len(requests)
        elif not isinstance(responses, list):
            raise LoadError(f"Expected a list in the execute return, found type '{type(responses)}'.")
        if len(responses) != len(requests):
            raise LoadError(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                f"InferenceRequest(s) size is:{len(requests)}, and InferenceResponse(s) size is:{len(responses)}"
            )
        for response in responses:
            if response is not None and not isinstance(response, InferenceResponse):
                raise LoadError(
                    "Expected an 'InferenceResponse' object in the execute function return list, "
                    f"found type '{type(response)}'."
                )
        return responses

    def _execute_decoupled(self, requests):
        answer = self._run(requests)
        if inspect.iscoroutine(answer):
            asyncio.run_coroutine_threadsafe(self._watch(answer, requests), self._event_loop())
        elif answer is not None:
            raise LoadError(
                f"Python model '{self.instance_name}' is using the decoupled mode and the execute function must return None."
            )

    async def _watch(self, coroutine, requests):
        try:
            answer = await coroutine
            if answer is not None:
                raise LoadError(
                    f"Python model '{self.instance_name}' is using the decoupled mode and the execute function must return None."
                )
        except BaseException as error:
            failure = TritonError(self._failure(error))
            for request in requests:
                request._responder.fail(failure)

    def _event_loop(self):
        """The one loop on which coroutines of a decoupled model run side by side."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            threading.Thread(target=self.loop.run_forever, name="execute", daemon=True).start()
        return self.loop

    @staticmethod
    def _left_over(request):
        # A decoupled model answers through senders; in a coroutine that may be any time later.
        request._responder.was_taken = True
        return None

    def _wire(self, request, response, tail):
        """One entry of the reply: a response, "again" for a rescheduled request, or null when a sender answers."""
        responder = request._responder
        if request._release == RESCHEDULE:
            responder.is_closed = True
            return "again"
        if response is not None:
            if responder.is_closed or responder.sent_count:
                return None
            responder.was_taken = False
            return response._wire(self.channel, responder.wanted, tail)
        if responder.was_taken:
            return None
        return {
            "e": [
                "INTERNAL",
                f"Failed to process the request(s) for model '{self.instance_name}', message: execute returned no "
                "response for a request and did not take its response sender.",
            ]
        }

    def _failure(self, error):
        text = str(error) if isinstance(error, LoadError) else describe(error)
        return f"Failed to process the request(s) for model '{self.instance_name}', message: {text}"

    @staticmethod
    def _fail_taken(requests, error):
        """Ends the requests whose sender was taken; the server fails the others by the error of the batch."""
        for request in requests:
            if request._responder.was_taken:
                request._responder.fail(TritonError(error))

    def is_ready(self, message, _):
        """Answers whether the model says that it can serve."""
        answer = {"t": "ready", "c": message["c"], "v": False}
        try:
            value = self.model.is_ready()
            if inspect.iscoroutine(value):
                value = asyncio.run(value)
            if not isinstance(value, bool):
                raise TypeError("is_ready() must return a boolean value")
            answer["v"] = value
        except BaseException as error:
            answer["e"] = describe(error)
        self.channel.send(answer)

    def finalize(self):
        error = None
        try:
            if self.model is not None and hasattr(self.model, "finalize"):
                self.model.finalize()
        except BaseException as thrown:
            error = describe(thrown)
        self.model = None
        self.channel.send({"t": "finalized", "e": error})


def main():
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(sys.argv[1], int(sys.argv[2]))
    tribune_request.server = tribune_request.Server(channel, False, int(sys.argv[3]))
    stub = Stub(channel)
    stub.run()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that a model left running must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
