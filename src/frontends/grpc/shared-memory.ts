import type { ServiceImpl } from "@connectrpc/connect";
import type { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../base/error.ts";

function refuse(): never {
  throw new InferenceError(
    "UNSUPPORTED",
    "this server does not support shared memory regions of clients; send tensors in the request",
  );
}

function noRegion(kind: "system" | "cuda", name: string) {
  if (name === "") return { regions: {} };
  throw new InferenceError("NOT_FOUND", `Unable to find ${kind} shared memory region: '${name}'`);
}

/** The shared-memory extensions, as far as a server without regions can answer them. */
export function sharedMemoryRpcs() {
  return {
    systemSharedMemoryStatus: ({ name }) => noRegion("system", name),
    systemSharedMemoryRegister: refuse,
    systemSharedMemoryUnregister: refuse,
    cudaSharedMemoryStatus: ({ name }) => noRegion("cuda", name),
    cudaSharedMemoryRegister: refuse,
    cudaSharedMemoryUnregister: refuse,
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}
