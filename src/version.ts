import { version } from "../package.json";

/** Version of this program. */
export const SERVER_VERSION: string = version;

/** The release of Triton whose behaviour is followed; server metadata shows it, because clients compare it. */
export const TRITON_VERSION = "2.73.0";

/**
 * What server metadata announces, in Triton's order. Clients ask for names before they use an extension; calls of one
 * that is not served answer UNSUPPORTED.
 */
export const EXTENSIONS: readonly string[] = [
  "classification",
  "sequence",
  "model_repository",
  "model_repository(unload_dependents)",
  "schedule_policy",
  "model_configuration",
  "system_shared_memory",
  "cuda_shared_memory",
  "binary_tensor_data",
  "parameters",
  "statistics",
  "trace",
  "logging",
];
