import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  type HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "#gen/grpc/health/v1/health_pb.ts";
import type { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { GrpcContext } from "./grpc-context.ts";

function checkLive({ dataPlane }: GrpcContext): void {
  if (!dataPlane.isLive) throw new InferenceError("UNAVAILABLE", "Server exiting");
}

/** Whether the server and its models are there. */
export function healthRpcs(context: GrpcContext) {
  const { dataPlane } = context;
  return {
    serverLive() {
      checkLive(context);
      return { live: true };
    },
    serverReady() {
      checkLive(context);
      return { ready: dataPlane.isReady };
    },
    async modelReady({ name, version }) {
      return { ready: await dataPlane.isModelReady(name, version) };
    },
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}

/**
 * The standard health service. It answers the readiness of the whole server, whatever service is named.
 *
 * @see gRPC health checking protocol, grpc.health.v1.
 */
export function healthService(context: GrpcContext): ServiceImpl<typeof Health> {
  return {
    check(): MessageInitShape<typeof HealthCheckResponseSchema> {
      checkLive(context);
      return {
        status: context.dataPlane.isReady ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
      };
    },
  };
}
