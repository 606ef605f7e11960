import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { InferenceError } from "../../../base/error.ts";
import { GRPC_STATUS, grpcStatusOf, HTTP_STATUS } from "../../status.ts";
import { encodeGrpcMessage } from "./grpc-message.ts";

/** How a call ended, in gRPC's terms. */
export interface CallStatus {
  /** Number of the gRPC status. */
  readonly code: number;
  readonly message: string;
}

/** The good end. */
export const STATUS_OK: CallStatus = { code: GRPC_STATUS.ok, message: "" };

const CONTENT_TYPE = "application/grpc";

/** Headers before the messages of an answer. */
export const RESPONSE_HEADERS: OutgoingHttpHeaders = {
  ":status": HTTP_STATUS.ok,
  "content-type": CONTENT_TYPE,
};

const OK_TRAILERS: OutgoingHttpHeaders = { "grpc-status": String(GRPC_STATUS.ok) };

/** Status of an error. */
export function callStatusFrom({ code, message }: InferenceError): CallStatus {
  return { code: grpcStatusOf(code), message };
}

/** Trailers of an answer. */
export function trailersOf({ code, message }: CallStatus): OutgoingHttpHeaders {
  if (code === GRPC_STATUS.ok) return OK_TRAILERS;
  return { "grpc-status": String(code), "grpc-message": encodeGrpcMessage(message) };
}

/** The one header block of an answer without messages ("Trailers-Only"). */
export function trailersOnlyHeaders(status: CallStatus): OutgoingHttpHeaders {
  return { ...RESPONSE_HEADERS, ...trailersOf(status) };
}

/** Makes a header block the whole answer. */
export const WITHOUT_BODY = { endStream: true, sendDate: false } as const;

/**
 * Ends a call that has sent nothing yet, and tells a client that is still sending to stop. Does nothing when the client
 * has gone.
 */
export function refuseCall(stream: ServerHttp2Stream, status: CallStatus): void {
  endWithHeaders(stream, trailersOnlyHeaders(status));
}

/** Answers by headers alone. */
export function endWithHeaders(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  stream.respond(headers, WITHOUT_BODY);
  stopClient(stream);
}

/** Sends the trailers that end an answer. */
export function sendTrailers(stream: ServerHttp2Stream, status: CallStatus): void {
  // A client may go away between the last byte and the trailers.
  if (stream.destroyed || stream.closed) return;
  stream.sendTrailers(trailersOf(status));
  stopClient(stream);
}

/** The answer is out: a client that still sends is told to stop, without harm to its other calls. */
function stopClient(stream: ServerHttp2Stream): void {
  if (stream.readableEnded) return;
  // In the same turn the reset would overtake the headers; and the end of the request may be here by then.
  setImmediate(() => {
    if (stream.readableEnded || stream.destroyed || stream.closed) return;
    stream.close(constants.NGHTTP2_NO_ERROR);
  });
}
