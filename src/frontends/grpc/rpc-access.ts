import { InferenceError } from "../../base/error.ts";

/** Groups of rpcs that `--grpc-restricted-protocol` can close. */
export type ApiName =
  | "health"
  | "metadata"
  | "inference"
  | "shared-memory"
  | "model-config"
  | "model-repository"
  | "statistics"
  | "trace"
  | "logging";

/** For each closed group the metadata key, and the value it must have. */
export type RestrictedApis = ReadonlyMap<ApiName, { readonly key: string; readonly value: string }>;

/** Which group an rpc belongs to, by its name. Names are distinct over both services. */
const API_OF: Readonly<Record<string, ApiName>> = {
  Check: "health",
  Watch: "health",
  List: "health",
  ServerLive: "health",
  ServerReady: "health",
  ModelReady: "health",
  ServerMetadata: "metadata",
  ModelMetadata: "metadata",
  ModelInfer: "inference",
  ModelStreamInfer: "inference",
  ModelConfig: "model-config",
  ModelStatistics: "statistics",
  RepositoryIndex: "model-repository",
  RepositoryModelLoad: "model-repository",
  RepositoryModelUnload: "model-repository",
  SystemSharedMemoryStatus: "shared-memory",
  SystemSharedMemoryRegister: "shared-memory",
  SystemSharedMemoryUnregister: "shared-memory",
  CudaSharedMemoryStatus: "shared-memory",
  CudaSharedMemoryRegister: "shared-memory",
  CudaSharedMemoryUnregister: "shared-memory",
  TraceSetting: "trace",
  LogSettings: "logging",
};

/**
 * Lets a call pass or refuses it.
 *
 * @param metadataOf looks a metadata key up; null or undefined = the call does not have it.
 * @throws InferenceError UNAVAILABLE, which is Triton's status for it, naming the key.
 */
export function checkAccess(
  restricted: RestrictedApis,
  rpcName: string,
  metadataOf: (key: string) => string | null | undefined,
): void {
  if (restricted.size === 0) return;
  const api = API_OF[rpcName];
  const needed = api && restricted.get(api);
  if (!needed || metadataOf(needed.key) === needed.value) return;
  throw new InferenceError(
    "UNAVAILABLE",
    `This protocol is restricted, expecting header '${needed.key}'`,
  );
}
