import { boolean, INT32_MAX, integer, list, text } from "./option.ts";
import { parseKeyValue, parseSetting } from "./setting.ts";

/** Flags of the metrics port. */
export const METRICS_ROWS = {
  "allow-metrics": boolean(true, "Whether the server answers /metrics."),
  "allow-gpu-metrics": boolean(true, "Whether metrics of GPUs are given.", {
    served: "GPUs are not measured yet",
  }),
  "allow-cpu-metrics": boolean(true, "Whether metrics of the host's CPU and memory are given."),
  "metrics-address": text("<address>", "", "Address of the metrics port.", {
    defaultText: "that of --http-address",
  }),
  "metrics-port": integer(8002, [0, 65535], "The metrics port; 0 takes any free one."),
  "metrics-interval-ms": integer(
    2000,
    [1, INT32_MAX],
    "Milliseconds between two measurements of what is polled (CPU and memory).",
  ),
  "metrics-config": list(
    "<setting>=<value>",
    parseKeyValue,
    "counter_latencies (true), histogram_latencies (false), summary_latencies (false), each true or false; summary_quantiles as <quantile>:<error>, separated by commas.",
  ),
};

/** Flags of tracing. */
export const TRACING_ROWS = {
  "trace-config": list(
    "[<mode>,]<setting>=<value>",
    parseSetting,
    "rate, level, count, mode; with mode triton file and log-frequency; with mode opentelemetry url, resource and bsp_… settings.",
    { served: "requests are not traced yet" },
  ),
};
