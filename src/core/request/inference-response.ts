import type { InferenceError } from "../../base/error.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Parameters } from "./request-signature.ts";

/** One answer of a model to one request. */
export interface InferenceResponse {
  readonly modelName: string;
  /** Decimal text, as the wire shows it. */
  readonly modelVersion: string;
  /** The request's id; "" when it had none. */
  readonly id: string;
  readonly parameters: Parameters;
  /** In the order of the model's outputs, only those asked for. Bytes borrowed, see {@link ResponseSink}. */
  readonly outputs: readonly Tensor[];
}

/**
 * Where the answers to one request go. A request gets zero or more responses or errors and exactly one end: the
 * call with `isFinal` true, or `onComplete`. Calls come on the main thread, never from inside `infer` itself.
 *
 * The bytes of a response's tensors are borrowed until the call returns: encode or copy them before.
 * An implementation must not throw.
 */
export interface ResponseSink {
  onResponse(response: InferenceResponse, isFinal: boolean): void;
  onError(error: InferenceError, isFinal: boolean): void;
  /** The end without a response (a decoupled model that has nothing more to say). */
  onComplete(): void;
}
