import { type ConnectRouter, createConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandler, UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { Health } from "#gen/grpc/health/v1/health_pb.ts";
import { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";
import { configRpcs } from "../config.ts";
import type { GrpcContext } from "../grpc-context.ts";
import { healthRpcs, healthService } from "../health.ts";
import { modelInfer } from "../infer.ts";
import { metadataRpcs } from "../metadata.ts";
import { repositoryRpcs } from "../repository.ts";
import { settingsRpcs } from "../settings.ts";
import { sharedMemoryRpcs } from "../shared-memory.ts";
import { statisticsRpcs } from "../statistics.ts";
import { modelStreamInfer } from "../stream-infer.ts";
import { messageCompression } from "./message-compression.ts";
import { rpcInterceptor } from "./rpc-errors.ts";

type OtherRpcs = Omit<ServiceImpl<typeof GRPCInferenceService>, "modelInfer" | "modelStreamInfer">;

/** Every rpc but the two of inference; the type sees to it that none is forgotten. */
function otherRpcs(context: GrpcContext): OtherRpcs {
  return {
    ...healthRpcs(context),
    ...metadataRpcs(context),
    ...configRpcs(context),
    ...statisticsRpcs(context),
    ...repositoryRpcs(context),
    ...settingsRpcs(context),
    ...sharedMemoryRpcs(),
  };
}

/** Handlers of both services by path, for gRPC, gRPC-web and Connect. */
export function rpcHandlers(context: GrpcContext): ReadonlyMap<string, UniversalHandler> {
  const limits = {
    readMaxBytes: context.maxReceiveBytes,
    interceptors: [rpcInterceptor(context)],
  } satisfies Partial<UniversalHandlerOptions>;
  const plain = { ...limits, ...messageCompression("none") };
  const infer = { ...limits, ...messageCompression(context.responseCompressionLevel) };
  const router: ConnectRouter = createConnectRouter(plain);
  router.service(Health, healthService(context), plain);
  router.service(GRPCInferenceService, otherRpcs(context), plain);
  // Later rpcs of the same path take the place of what `service` put there.
  router.rpc(GRPCInferenceService.method.modelInfer, modelInfer(context), infer);
  router.rpc(GRPCInferenceService.method.modelStreamInfer, modelStreamInfer(context), infer);
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}
