"""What a model may ask of the server: log lines, metrics, models to load, and its own configuration."""

import json
import math
import os
import sys

import tribune_request
from tribune_tensor import TritonModelException


def _ask(method, **fields):
    return tribune_request.server.ask(method, **fields)


class Logger:
    """Writes to the server's log."""

    INFO, WARNING, ERROR, VERBOSE = range(4)

    @staticmethod
    def log(message, level=INFO):
        _log(message, level)

    @staticmethod
    def log_info(message):
        _log(message, Logger.INFO)

    @staticmethod
    def log_warn(message):
        _log(message, Logger.WARNING)

    @staticmethod
    def log_error(message):
        _log(message, Logger.ERROR)

    @staticmethod
    def log_verbose(message):
        _log(message, Logger.VERBOSE)


def _log(message, level):
    caller = sys._getframe(2)
    tribune_request.server.channel.send(
        {
            "t": "log",
            "l": int(level),
            "m": str(message),
            "file": os.path.basename(caller.f_code.co_filename),
            "line": caller.f_lineno,
        }
    )


class Metric:
    """One series of a family. It leaves the metrics page when the last reference to it is gone."""

    def __init__(self, family, labels, buckets):
        if labels is not None and not all(isinstance(k, str) and isinstance(v, str) for k, v in labels.items()):
            raise TypeError("Metric: label names and values must be str")
        if family._kind == MetricFamily.HISTOGRAM:
            if not buckets:
                raise TritonModelException("Failed to create metric. Missing required buckets.")
        elif buckets is not None:
            raise TritonModelException("Failed to create metric. Unexpected buckets found.")
        self._family = family
        self._id = _ask("metric", family=family._id, labels=labels or {}, buckets=buckets)

    def increment(self, value):
        """Adds to a counter (never below zero) or a gauge."""
        if self._family._kind == MetricFamily.HISTOGRAM:
            raise TritonModelException("Failed to increment metric value: a histogram only observes.")
        if self._family._kind == MetricFamily.COUNTER and value < 0:
            raise TritonModelException("Failed to increment metric value: a counter cannot be decremented.")
        self._change("increment", value)

    def set(self, value):
        """Sets a gauge."""
        if self._family._kind != MetricFamily.GAUGE:
            raise TritonModelException("Failed to set metric value: only a gauge can be set.")
        self._change("set", value)

    def observe(self, value):
        """Adds one observation to a histogram."""
        if self._family._kind != MetricFamily.HISTOGRAM:
            raise TritonModelException("Failed to observe metric value: only a histogram observes.")
        self._change("observe", value)

    def value(self):
        """The present value of a counter or gauge."""
        if self._family._kind == MetricFamily.HISTOGRAM:
            raise TritonModelException("Failed to get metric value: a histogram has no single value.")
        return float(_ask("metric_value", id=self._id))

    def _change(self, operation, value):
        tribune_request.server.channel.send(
            {"t": "call", "c": 0, "m": "metric_change", "id": self._id, "op": operation, "value": _json_number(value)}
        )

    def __del__(self):
        identifier = getattr(self, "_id", None)
        if identifier is not None and tribune_request.server is not None:
            tribune_request.server.channel.send_later({"t": "call", "c": 0, "m": "metric_delete", "id": identifier})


def _json_number(value):
    """JSON has no NaN and no infinities: those go as the words that the server knows."""
    number = float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


class MetricFamily:
    """A named set of metrics of one kind. Models that make the same family share it."""

    COUNTER, GAUGE, HISTOGRAM = range(3)

    def __init__(self, name, description, kind):
        self._kind = int(kind)
        self._id = _ask("metric_family", name=name, description=description, kind=self._kind)

    def Metric(self, labels=None, buckets=None):  # noqa: N802 the API's own name
        return Metric(self, labels, buckets)

    def __del__(self):
        identifier = getattr(self, "_id", None)
        if identifier is not None and tribune_request.server is not None:
            tribune_request.server.channel.send_later(
                {"t": "call", "c": 0, "m": "metric_family_delete", "id": identifier}
            )


def load_model(model_name, config="", files=None):
    """Loads a model; needs explicit model control. `files` maps `file:<path>` to bytes."""
    tail, places = bytearray(), {}
    for key, content in (files or {}).items():
        places[key] = [len(tail), len(content)]
        tail += content
    tribune_request.server.ask("load", tail, model=model_name, config=config, files=places)


def unload_model(model_name, unload_dependents=False):
    """Unloads a model; needs explicit model control."""
    _ask("unload", model=model_name, dependents=bool(unload_dependents))


def is_model_ready(model_name, model_version=""):
    """Whether a model can serve."""
    return _ask("is_ready", model=model_name, version=str(model_version))


def get_input_config_by_name(model_config, name):
    """The entry of an input in the configuration dictionary, None where there is none."""
    return _entry(model_config, "input", name)


def get_output_config_by_name(model_config, name):
    """The entry of an output in the configuration dictionary, None where there is none."""
    return _entry(model_config, "output", name)


def _entry(model_config, kind, name):
    for entry in model_config.get(kind, ()):
        if entry["name"] == name:
            return entry
    return None


def using_decoupled_model_transaction_policy(model_config):
    """Whether the configuration is that of a decoupled model."""
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


class ModelConfig:
    """The configuration as `auto_complete_config` may complete it."""

    def __init__(self, model_config):
        self._model_config = json.loads(model_config)

    def as_dict(self):
        return self._model_config

    def _name(self):
        return self._model_config.get("name", "")

    def set_max_batch_size(self, max_batch_size):
        given = self._model_config.get("max_batch_size", 0)
        if given > max_batch_size:
            raise ValueError(
                f"configuration specified max_batch_size {given}, but in auto-complete-config function for model "
                f"'{self._name()}' specified max_batch_size {max_batch_size}"
            )
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        for choice in ("sequence_batching", "ensemble_scheduling"):
            if choice in self._model_config:
                raise ValueError(
                    f"Configuration specified scheduling_choice as '{choice}', but auto-complete-config function for "
                    f"model '{self._name()}' tries to set scheduling_choice as 'dynamic_batching'"
                )
        self._model_config.setdefault("dynamic_batching", {})

    def set_model_transaction_policy(self, transaction_policy_dict):
        for key in transaction_policy_dict:
            if key != "decoupled":
                raise ValueError(
                    f"model transaction property in auto-complete-config function for model '{self._name()}' contains "
                    "property other than 'decoupled'."
                )
        if "decoupled" not in transaction_policy_dict:
            return
        wanted = transaction_policy_dict["decoupled"]
        policy = self._model_config.get("model_transaction_policy")
        if policy and policy.get("decoupled", False) != wanted and policy.get("decoupled", False):
            raise ValueError(
                f"trying to change decoupled property in auto-complete-config for model '{self._name()}', which is "
                f"already set to '{policy['decoupled']}'."
            )
        self._model_config["model_transaction_policy"] = {"decoupled": wanted}

    def add_input(self, input):
        self._add("input", input, ("name", "data_type", "dims", "optional"))

    def add_output(self, output):
        self._add("output", output, ("name", "data_type", "dims"))

    def _add(self, kind, entry, allowed):
        self._check(kind, entry, allowed)
        known = _entry(self._model_config, kind, entry["name"])
        if known is None:
            self._model_config.setdefault(kind, []).append(dict(entry))
            return
        self._check_type(kind, known, entry)
        self._check_dims(known, entry)
        known["data_type"], known["dims"] = entry["data_type"], list(entry["dims"])
        if "optional" in entry:
            if known.get("optional", False) and not entry["optional"]:
                raise ValueError(
                    f"model '{self._name()}', tensor '{entry['name']}': the model expects optional {entry['optional']} "
                    f"but the model configuration specifies optional {known['optional']}"
                )
            known["optional"] = entry["optional"]

    def _check(self, kind, entry, allowed):
        where = f"auto-complete-config function for model '{self._name()}'"
        if "name" not in entry:
            raise ValueError(f"{kind} in {where} is missing 'name' property.")
        for key in entry:
            if key not in allowed:
                listed = ", ".join(f"'{k}'" for k in allowed[:-1]) + f" and '{allowed[-1]}'"
                raise ValueError(f"{kind} '{entry['name']}' in {where} contains property other than {listed}.")
        for key in ("data_type", "dims"):
            if key not in entry:
                raise ValueError(f"{kind} '{entry['name']}' in {where} is missing '{key}' property.")

    def _check_type(self, kind, known, entry):
        given = known.get("data_type", "TYPE_INVALID")
        if given not in ("", "TYPE_INVALID", entry["data_type"]):
            raise ValueError(
                f"unable to load model '{self._name()}', configuration expects datatype {given} for {kind} "
                f"'{entry['name']}', model provides {entry['data_type']}"
            )

    def _check_dims(self, known, entry):
        given = known.get("dims")
        if given and list(given) != list(entry["dims"]):
            raise ValueError(
                f"model '{self._name()}', tensor '{entry['name']}': the model expects dims {list(entry['dims'])} but "
                f"the model configuration specifies dims {list(given)}"
            )
