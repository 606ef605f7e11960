/** Groups of endpoints and rpcs that `--http-restricted-api` and `--grpc-restricted-protocol` can close. */
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

/** For each closed group the header or metadata key, and the value it must have. */
export type RestrictedApis = ReadonlyMap<ApiName, { readonly key: string; readonly value: string }>;

/** Which group an rpc belongs to, by its name, on either port. Names are distinct over both services. */
export const RPC_APIS: Readonly<Record<string, ApiName>> = {
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
