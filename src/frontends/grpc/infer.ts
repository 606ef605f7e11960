import type { HandlerContext } from "@connectrpc/connect";
import type { ModelInferRequest, ModelInferResponse } from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { Model } from "../../core/model/model.ts";
import { InferenceRequest } from "../../core/request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../../core/request/inference-response.ts";
import type { DecodedInferRequest, OpenedInferRequest } from "./codec/infer-request-decoder.ts";
import type { InferRequestForm } from "./codec/infer-request-form.ts";
import { inferResponseMessage } from "./codec/infer-response-message.ts";
import type { GrpcContext } from "./grpc-context.ts";

/** Metadata of a call, names in lower case. */
export type CallMetadata = Iterable<[string, string]>;

/** The rest of a request whose model is known, forwarded metadata included. @throws InferenceError; see the decoder. */
export function decodeForModel(
  context: GrpcContext,
  opened: OpenedInferRequest,
  metadata: () => CallMetadata,
): DecodedInferRequest {
  const decoded = context.decoder.decode(opened);
  if (!context.forwarding.isOn) return decoded;
  const { form } = decoded;
  const signature = context.forwarding.addTo(form.signature, metadata());
  return signature === form.signature ? decoded : { ...decoded, form: { ...form, signature } };
}

/**
 * The model of a ModelInfer call.
 *
 * @throws InferenceError as `DataPlane.model`; UNSUPPORTED for a decoupled model, which needs a stream.
 */
export function modelForUnary(context: GrpcContext, opened: OpenedInferRequest): Model {
  const model = context.dataPlane.model(opened.modelName, opened.modelVersion);
  if (!model.config.isDecoupled) return model;
  throw new InferenceError(
    "UNSUPPORTED",
    "ModelInfer RPC doesn't support models with decoupled transaction policy",
  );
}

/**
 * Starts what a ModelInfer call asks for. The one way in for the hot path and for ConnectRPC.
 *
 * @param makeSink gets the form, to which the answer belongs.
 * @throws InferenceError when the request is refused at once; no sink is touched then.
 */
export function startUnaryInfer(
  context: GrpcContext,
  opened: OpenedInferRequest,
  options: {
    readonly arrivalNs: number;
    readonly metadata: () => CallMetadata;
    readonly makeSink: (form: InferRequestForm) => ResponseSink;
  },
): InferenceRequest {
  const model = modelForUnary(context, opened);
  const { form, id, inputBytes } = decodeForModel(context, opened, options.metadata);
  const request = new InferenceRequest({
    signature: form.signature,
    id,
    inputBytes,
    sink: options.makeSink(form),
    arrivalNs: options.arrivalNs,
  });
  context.dataPlane.infer(model, request);
  return request;
}

/** What a model that owes exactly one response did instead. */
export function wrongResponseCount(count: number): InferenceError {
  return new InferenceError("INTERNAL", `expected a single response, got ${count}`, {
    reason: "BACKEND",
  });
}

/** Waits for the one response of a ModelInfer call, as a message. */
class MessageSink implements ResponseSink {
  readonly answer: Promise<ModelInferResponse>;
  readonly #resolve: (message: ModelInferResponse) => void;
  readonly #reject: (error: unknown) => void;
  #message: ModelInferResponse | undefined;
  #responseCount = 0;

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<ModelInferResponse>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    this.#responseCount++;
    this.#message ??= inferResponseMessage(response);
    if (isFinal) this.onComplete();
  }

  onError(error: InferenceError): void {
    this.#reject(error);
  }

  /** Nobody waits any more, for this reason; what the core says afterwards is not heard. */
  abandon(reason: unknown): void {
    this.#reject(reason);
  }

  onComplete(): void {
    if (this.#message && this.#responseCount === 1) this.#resolve(this.#message);
    else this.#reject(wrongResponseCount(this.#responseCount));
  }
}

/** ModelInfer by ConnectRPC. */
export function modelInfer(context: GrpcContext) {
  return async (
    message: ModelInferRequest,
    { signal, requestHeader }: HandlerContext,
  ): Promise<ModelInferResponse> => {
    const sink = new MessageSink();
    const request = startUnaryInfer(context, context.decoder.openMessage(message), {
      arrivalNs: context.clock.nowNs(),
      metadata: () => requestHeader,
      makeSink: () => sink,
    });
    // ConnectRPC gives a deadline and a client that went away as reasons, each with its status.
    const cancel = () => {
      sink.abandon(signal.reason);
      request.cancel();
    };
    signal.addEventListener("abort", cancel);
    try {
      return await sink.answer;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}
