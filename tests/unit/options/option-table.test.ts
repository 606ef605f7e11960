import { expect, test } from "bun:test";
import { isOptionName, OPTION_NAMES, OPTIONS_BY_GROUP } from "../../../src/options/option-table.ts";

/** The flags of tritonserver 2.73 and those it had before, as its help and old documents list them. */
const TRITON_FLAGS = `
help id exit-timeout-secs
log-verbose log-info log-warning log-error log-format log-file
model-repository model-store exit-on-error disable-auto-complete-config strict-readiness model-control-mode
repository-poll-secs load-model model-config-name model-load-thread-count model-load-retry-count model-namespacing
enable-peer-access
allow-http http-address http-port reuse-http-port http-header-forward-pattern http-thread-count http-max-input-size
http-restricted-api
allow-grpc grpc-address grpc-port reuse-grpc-port grpc-header-forward-pattern grpc-infer-thread-count
grpc-infer-allocation-pool-size grpc-max-response-pool-size grpc-use-ssl grpc-use-ssl-mutual grpc-server-cert
grpc-server-key grpc-root-cert grpc-infer-response-compression-level grpc-keepalive-time grpc-keepalive-timeout
grpc-keepalive-permit-without-calls grpc-http2-max-pings-without-data
grpc-http2-min-recv-ping-interval-without-data grpc-http2-max-ping-strikes grpc-max-connection-age
grpc-max-connection-age-grace grpc-restricted-protocol
allow-sagemaker sagemaker-port sagemaker-safe-port-range sagemaker-thread-count
allow-vertex-ai vertex-ai-port vertex-ai-thread-count vertex-ai-default-model
allow-metrics allow-gpu-metrics allow-cpu-metrics metrics-address metrics-port metrics-interval-ms metrics-config
trace-config backend-directory backend-config repoagent-directory cache-config cache-directory
rate-limit rate-limit-resource
pinned-memory-pool-byte-size cuda-memory-pool-byte-size cuda-virtual-address-size min-supported-compute-capability
buffer-manager-thread-count host-policy model-load-gpu-limit allow-client-shm
strict-model-config response-cache-byte-size trace-file trace-level trace-rate trace-count trace-log-frequency
allow-poll-model-repository allow-model-control tf-allow-soft-placement tf-gpu-memory-fraction http-health-port
api-version
`
  .trim()
  .split(/\s+/);

test("every flag of tritonserver is known", () => {
  expect(TRITON_FLAGS.filter((name) => !isOptionName(name))).toEqual([]);
});

test("flags of our own are few and listed here", () => {
  expect(OPTION_NAMES.filter((name) => !TRITON_FLAGS.includes(name))).toEqual([
    "onnxruntime-library",
  ]);
});

test("each flag stands under one heading, and its texts are sentences", () => {
  const grouped = Object.values(OPTIONS_BY_GROUP).flatMap((rows) => Object.entries(rows));
  expect(grouped.map(([name]) => name).sort()).toEqual([...OPTION_NAMES].sort());
  for (const [, option] of grouped) expect(option.meaning).toMatch(/^[A-Za-z*].*[.]$/s);
});
