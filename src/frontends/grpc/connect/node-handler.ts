import {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { GRPC_STATUS, HTTP_STATUS } from "../../status.ts";
import type { GrpcContext } from "../grpc-context.ts";
import { endWithHeaders, refuseCall } from "../wire/call-status.ts";
import { encodeGrpcMessage } from "../wire/grpc-message.ts";
import { rpcHandlers } from "./routes.ts";

/** Carries a stream of the gRPC port to ConnectRPC. */
export type StreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
) => void;

const MESSAGE_HEADER = "grpc-message";
const ENCODINGS_HEADER = "grpc-accept-encoding";
/** What `message-compression.ts` understands; a client that sends anything else is to learn it. */
const ENCODINGS = "identity,deflate,gzip";

/**
 * ConnectRPC makes a URL of the authority and throws where that fails, which would end the process: a bad `:authority`
 * (a client on a unix socket sends one) is replaced, nothing asks for it.
 */
function withUsableAuthority(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const authority = headers[":authority"] ?? headers.host;
  if (authority !== undefined && URL.canParse(`http://${authority}`)) return headers;
  return { ...headers, ":authority": "localhost" };
}

/**
 * Puts right what ConnectRPC does otherwise in answers by gRPC: it does not say which encodings it takes, and its
 * percent-encoding of messages is not undone by @grpc/grpc-js (users see `%3A` for a colon).
 */
function asGrpcExpects(response: UniversalServerResponse): UniversalServerResponse {
  const { trailer, body } = response;
  // Only gRPC has trailers; gRPC-web and Connect put theirs into the body.
  if (!trailer || !body || !(Symbol.asyncIterator in body)) return response;
  if (response.header instanceof Headers) response.header.set(ENCODINGS_HEADER, ENCODINGS);
  // The status is in the trailers once the body has been read.
  async function* thenEncode(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield* chunks;
    const message = trailer?.get(MESSAGE_HEADER);
    if (message) trailer?.set(MESSAGE_HEADER, encodeGrpcMessage(decodeURIComponent(message)));
  }
  return { ...response, body: thenEncode(body) };
}

function refuseUnknownPath(
  stream: ServerHttp2Stream,
  path: string,
  headers: IncomingHttpHeaders,
): void {
  stream.on("error", () => stream.destroy());
  if (headers["content-type"]?.startsWith("application/grpc")) {
    refuseCall(stream, { code: GRPC_STATUS.unimplemented, message: `unknown method ${path}` });
  } else endWithHeaders(stream, { ":status": HTTP_STATUS.notFound });
}

/** Whether an error only says that the client went away. */
function isClientGone(thrown: unknown): boolean {
  const { code } = ConnectError.from(thrown);
  return code === Code.Aborted || code === Code.Canceled;
}

/** Handles every rpc by ConnectRPC; never throws, whatever a client sends. */
export function connectStreamHandler(context: GrpcContext): StreamHandler {
  const { logger } = context;
  const handlers = rpcHandlers(context);

  async function answer(
    handler: UniversalHandler,
    request: Http2ServerRequest,
    response: Http2ServerResponse,
  ): Promise<void> {
    const answered = await handler(
      universalRequestFromNodeRequest(request, response, undefined, undefined),
    );
    await universalResponseToNodeResponse(asGrpcExpects(answered), response);
  }

  return (stream, headers, rawHeaders) => {
    const path = headers[":path"]?.split("?", 1)[0] ?? "";
    const handler = handlers.get(path);
    if (!handler) {
      refuseUnknownPath(stream, path, headers);
      return;
    }
    const usable = withUsableAuthority(headers);
    const request = new Http2ServerRequest(stream, usable, {}, rawHeaders);
    const response = new Http2ServerResponse(stream);
    answer(handler, request, response).catch((thrown: unknown) => {
      if (isClientGone(thrown)) return;
      logger.error("rpc could not be handled", { path, error: String(thrown) });
      if (!stream.destroyed && !stream.headersSent) stream.close();
    });
  };
}
