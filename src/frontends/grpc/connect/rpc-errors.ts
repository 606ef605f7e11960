import { type Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { grpcStatusOf } from "../../status.ts";
import type { GrpcContext } from "../grpc-context.ts";
import { checkAccess } from "../rpc-access.ts";

/** A thrown error as ConnectRPC's. Its own ones, for malformed requests, stay as they are. */
function connectErrorFrom(thrown: unknown, rpcName: string, context: GrpcContext): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const error = context.errorFrom(thrown, rpcName);
  // ConnectRPC's codes have gRPC's numbers. A lone surrogate would make its percent-encoding throw.
  const code = grpcStatusOf(error.code) as Code;
  return new ConnectError(error.message.toWellFormed(), code, undefined, undefined, error);
}

async function* withConnectErrors<T>(
  messages: AsyncIterable<T>,
  convert: (thrown: unknown) => ConnectError,
): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (thrown) {
    throw convert(thrown);
  }
}

/** Stands around every rpc: refuses calls to restricted apis, and turns thrown errors into statuses. */
export function rpcInterceptor(context: GrpcContext): Interceptor {
  return (next) => async (request) => {
    const rpcName = request.method.name;
    const convert = (thrown: unknown) => connectErrorFrom(thrown, rpcName, context);
    try {
      checkAccess(context.restrictedApis, rpcName, (key) => request.header.get(key));
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: withConnectErrors(response.message, convert) };
    } catch (thrown) {
      throw convert(thrown);
    }
  };
}
