import { createFetchHandler } from "@connectrpc/connect/protocol";
import { inferenceErrorFrom } from "../../../base/error.ts";
import { HTTP_STATUS } from "../../status.ts";
import { GrpcContext, type GrpcServiceOptions } from "../grpc-context.ts";
import { rpcHandlers } from "./routes.ts";

/** Answers requests to the paths of the inference and health services. */
export type RpcFetchHandler = (request: Request) => Promise<Response>;

/**
 * Both services for browsers and other HTTP clients, by gRPC-web and Connect: for the HTTP port to mount on
 * `/inference.GRPCInferenceService/*` and `/grpc.health.v1.Health/*`. Who may call from which origin is the HTTP
 * frontend's to say.
 *
 * @throws InferenceError INVALID_ARG for a forwarding pattern that is no regular expression.
 */
export function createConnectFetchHandler(options: GrpcServiceOptions): RpcFetchHandler {
  const context = new GrpcContext(options);
  const handlers = new Map(
    // Without a version ConnectRPC lets streams pass: a client may send its whole half of one in advance.
    [...rpcHandlers(context)].map(
      ([path, handler]) => [path, createFetchHandler(handler)] as const,
    ),
  );
  return async (request) => {
    const handler = handlers.get(new URL(request.url).pathname);
    if (!handler) return new Response(null, { status: HTTP_STATUS.notFound });
    try {
      return await handler(request);
    } catch (thrown) {
      const error = inferenceErrorFrom(thrown);
      context.logger.error("rpc could not be handled", { error: error.message });
      return new Response(null, { status: HTTP_STATUS.internal });
    }
  };
}
