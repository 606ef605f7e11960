import type { ResponseSink } from "./inference-response.ts";
import type { RequestSignature, ValidatedSignature } from "./request-signature.ts";

/** What an {@link InferenceRequest} is made of. */
export interface InferenceRequestFields {
  readonly signature: RequestSignature;
  readonly id: string;
  /** Bytes of `signature.inputs[i]` at index i; borrowed by the core until the request's end. */
  readonly inputBytes: readonly Uint8Array[];
  readonly sink: ResponseSink;
  /** When its first byte was read, `Clock.nowNs`. */
  readonly arrivalNs: number;
}

/** See {@link InferenceRequest.onSucceeded}. */
export type OnSucceeded = (
  queueNs: number,
  computeInputNs: number,
  computeInferNs: number,
  computeOutputNs: number,
) => void;

/**
 * One request on its way through the server. Made by a frontend, owned by the core from `DataPlane.infer` until the
 * sink got its end. Lives on the main thread only.
 */
export class InferenceRequest {
  readonly signature: RequestSignature;
  readonly id: string;
  readonly inputBytes: readonly Uint8Array[];
  readonly sink: ResponseSink;
  readonly arrivalNs: number;
  /** As the model is told it: the client's, or one that a scheduler gave. */
  sequenceId: bigint | string;
  /** As the model is told them; the bits {@link SEQUENCE_START} and {@link SEQUENCE_END}. */
  sequenceFlags: number;
  /** Set by validation before a scheduler sees the request. */
  validated: ValidatedSignature | undefined = undefined;
  /** When the scheduler took it, `Clock.nowNs`; 0 before. */
  queueStartNs = 0;
  /** When it left the queue for an instance, `Clock.nowNs`; 0 before. */
  computeStartNs = 0;
  /** True from the first `cancel()`; whoever holds the request then drops it at the next chance. */
  isCancelled = false;
  /** True once the sink got its end. */
  isEnded = false;
  /** Set by the present owner (queue, instance) to be told at once of a cancellation. */
  onCancel: ((request: InferenceRequest) => void) | undefined = undefined;
  /** Set by an ensemble whose step this request is for: told of its times once it has succeeded, in ns. */
  onSucceeded: OnSucceeded | undefined = undefined;
  /** Whatever the present owner keeps about the request, so that it needs no map; nobody else looks at it. */
  ownerNote: object | undefined = undefined;

  constructor(fields: InferenceRequestFields) {
    this.signature = fields.signature;
    this.id = fields.id;
    this.inputBytes = fields.inputBytes;
    this.sink = fields.sink;
    this.arrivalNs = fields.arrivalNs;
    this.sequenceId = fields.signature.sequenceId;
    this.sequenceFlags = fields.signature.sequenceFlags;
  }

  /**
   * The client went away, or its deadline passed: queued work is dropped, running work is asked to stop. The sink
   * still gets its end (CANCELLED, unless an answer was already on its way).
   */
  cancel(): void {
    if (this.isCancelled || this.isEnded) return;
    this.isCancelled = true;
    this.onCancel?.(this);
  }
}
