import type { ServiceImpl } from "@connectrpc/connect";
import type { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";
import type { GrpcContext } from "./grpc-context.ts";

/** The completed configuration of a model, every default filled in. */
export function configRpcs({ dataPlane }: GrpcContext) {
  return {
    modelConfig({ name, version }) {
      return { config: dataPlane.model(name, version).config.message };
    },
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}
