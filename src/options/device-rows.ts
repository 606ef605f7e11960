import { boolean, INT32_MAX, integer, list, optionalInteger, single, text } from "./option.ts";
import {
  type PortRange,
  parseGpuBytes,
  parseGpuFraction,
  parseOwnedSetting,
  parsePortRange,
} from "./setting.ts";

const CHOSEN_BY_RUNTIME = "the runtime library decides";

/** Flags about memory and devices. */
export const DEVICE_ROWS = {
  "pinned-memory-pool-byte-size": integer(
    268_435_456,
    [0, Number.MAX_SAFE_INTEGER],
    "Bytes of host memory that GPUs can reach. Shown in the metrics.",
    { served: "no memory is pinned; the metrics show the number" },
  ),
  "cuda-memory-pool-byte-size": list(
    "<gpu>:<bytes>",
    parseGpuBytes,
    "Bytes of device memory that the server keeps on a GPU.",
    { served: CHOSEN_BY_RUNTIME },
  ),
  "cuda-virtual-address-size": list(
    "<gpu>:<bytes>",
    parseGpuBytes,
    "Bytes of virtual addresses that growable memory on a GPU may take.",
    { served: CHOSEN_BY_RUNTIME },
  ),
  "min-supported-compute-capability": text(
    "<float>",
    "0",
    "GPUs below this compute capability are not used.",
    { served: CHOSEN_BY_RUNTIME },
  ),
  "buffer-manager-thread-count": integer(
    0,
    [0, INT32_MAX],
    "Threads that copy tensors; 0 copies where the request is handled.",
    { served: "inputs are copied once, where the request is handled" },
  ),
  "host-policy": list(
    "<policy>,<setting>=<value>",
    parseOwnedSetting,
    "numa-node or cpu-cores of the instances that name the policy.",
    { served: "instances run on any core" },
  ),
  "model-load-gpu-limit": list(
    "<device>:<fraction>",
    parseGpuFraction,
    "Share of a GPU's memory above which no further model is loaded.",
    { served: "GPU memory is not watched" },
  ),
};

/** Flag of shared memory. */
export const SHARED_MEMORY_ROWS = {
  "allow-client-shm": boolean(
    false,
    "Clients on the same machine may pass tensors in shared memory.",
    { served: "shared memory is not served yet" },
  ),
};

const ENDPOINT = { served: "the endpoint is not served yet" };

/** Ports that answer as the services of two clouds do. */
export const CLOUD_ROWS = {
  "allow-sagemaker": boolean(false, "Whether the SageMaker endpoint is open.", ENDPOINT),
  "sagemaker-port": integer(8080, [0, 65535], "Port of the SageMaker endpoint.", ENDPOINT),
  "sagemaker-safe-port-range": single<PortRange | undefined>(
    "<integer>-<integer>",
    undefined,
    "",
    parsePortRange,
    "Ports that the SageMaker endpoint may use.",
    ENDPOINT,
  ),
  "sagemaker-thread-count": integer(
    8,
    [1, INT32_MAX],
    "Threads of the SageMaker endpoint.",
    ENDPOINT,
  ),
  "allow-vertex-ai": boolean(false, "Whether the Vertex AI endpoint is open.", {
    ...ENDPOINT,
    defaultText: "true where AIP_MODE is PREDICTION",
  }),
  "vertex-ai-port": optionalInteger([0, 65535], "Port of the Vertex AI endpoint.", {
    ...ENDPOINT,
    defaultText: "AIP_HTTP_PORT, or 8080",
  }),
  "vertex-ai-thread-count": integer(
    8,
    [1, INT32_MAX],
    "Threads of the Vertex AI endpoint.",
    ENDPOINT,
  ),
  "vertex-ai-default-model": text("<name>", "", "Model of requests that name none.", ENDPOINT),
};
