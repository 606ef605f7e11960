import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { InferenceError } from "../../../base/error.ts";
import { connectStreamHandler, type StreamHandler } from "../connect/node-handler.ts";
import type { GrpcContext } from "../grpc-context.ts";
import { checkAccess } from "../rpc-access.ts";
import { ByteBudget } from "./byte-budget.ts";
import { callStatusFrom, refuseCall } from "./call-status.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";
import type { CallStart, Http2Call } from "./http2-call.ts";
import { StreamInferCall } from "./stream-infer-call.ts";
import { UnaryInferCall } from "./unary-infer-call.ts";

type CallClass = new (start: CallStart) => Http2Call;

/** The rpcs that do without ConnectRPC, by path. */
const HOT_CALLS: ReadonlyMap<string, readonly [rpcName: string, CallClass]> = new Map([
  ["/inference.GRPCInferenceService/ModelInfer", ["ModelInfer", UnaryInferCall]],
  ["/inference.GRPCInferenceService/ModelStreamInfer", ["ModelStreamInfer", StreamInferCall]],
]);

/** What a router is made of. */
export interface CallRouterOptions {
  readonly context: GrpcContext;
  /** False sends every call to ConnectRPC. */
  readonly hasHotPath: boolean;
  readonly maxInflightBytes: number;
}

/** Decides who handles a stream: the hot path what it can, ConnectRPC all the rest. */
export class CallRouter {
  readonly #context: GrpcContext;
  readonly #hasHotPath: boolean;
  readonly #budget: ByteBudget;
  readonly #connect: StreamHandler;
  readonly #openStreams = new Set<StreamInferCall>();
  constructor({ context, hasHotPath, maxInflightBytes }: CallRouterOptions) {
    this.#context = context;
    // The hot path compresses nothing.
    this.#hasHotPath = hasHotPath && context.responseCompressionLevel === "none";
    this.#budget = new ByteBudget(maxInflightBytes);
    this.#connect = connectStreamHandler(context);
  }

  /** Bytes of messages that are being received, inferred or sent. */
  get inflightBytes(): number {
    return this.#budget.usedBytes;
  }

  /** Ends the streams of ModelStreamInfer on which nothing is in flight; those where something is, when it has ended. */
  drain(): void {
    for (const call of this.#openStreams) call.drain();
  }

  /** Answers a stream, now or later. Never throws. */
  route(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): void {
    // A reset stream emits an error, which would end the process if nobody listened; "close" says all that matters.
    stream.on("error", ignoreStreamError);
    const hot = this.#hasHotPath ? HOT_CALLS.get(headers[":path"] ?? "") : undefined;
    if (!hot || !isPlainGrpc(headers)) {
      this.#connect(stream, headers, rawHeaders);
      return;
    }
    const [rpcName, Call] = hot;
    const timeoutText = headers["grpc-timeout"];
    const timeoutMs = timeoutText === undefined ? undefined : parseGrpcTimeout(String(timeoutText));
    try {
      if (timeoutText !== undefined && timeoutMs === undefined) refuseTimeout(timeoutText);
      const context = this.#context;
      checkAccess(context.restrictedApis, rpcName, (key) => headers[key]?.toString());
      const start = { context, budget: this.#budget, stream, headers, timeoutMs };
      const call = new Call(start);
      if (call instanceof StreamInferCall) {
        this.#openStreams.add(call);
        stream.on("close", () => this.#openStreams.delete(call));
      }
    } catch (thrown) {
      refuseCall(stream, callStatusFrom(this.#context.errorFrom(thrown, rpcName)));
    }
  }
}

/** A call that needs nothing of what ConnectRPC knows better: other formats, compression, other HTTP methods. */
function isPlainGrpc(headers: IncomingHttpHeaders): boolean {
  const contentType = headers["content-type"];
  if (contentType !== "application/grpc" && contentType !== "application/grpc+proto") return false;
  const encoding = headers["grpc-encoding"];
  return (encoding === undefined || encoding === "identity") && headers[":method"] === "POST";
}

function refuseTimeout(text: unknown): never {
  throw new InferenceError(
    "INVALID_ARG",
    `grpc-timeout '${text}' is malformed, expected at most 8 digits and one of H, M, S, m, u, n`,
  );
}

function ignoreStreamError(): void {
  return;
}
