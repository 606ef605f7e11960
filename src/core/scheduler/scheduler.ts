import type { InferenceRequest } from "../request/inference-request.ts";

/** Decides when, with whom and on which instance a validated request runs. One per loaded model version. */
export interface Scheduler {
  /**
   * Takes a validated request. On return the scheduler owns it and will end its sink exactly once; when it throws,
   * the request stays with the caller and the sink was not touched.
   *
   * @throws InferenceError UNAVAILABLE when a queue is full or the scheduler has stopped.
   */
  enqueue(request: InferenceRequest): void;
  /** Requests accepted and not yet ended. */
  readonly inflightCount: number;
  /** Accepted requests not yet handed to an instance (`nv_inference_pending_request_count`). */
  readonly pendingCount: number;
  /**
   * Schedulers of sequences only: refuses new sequences from now on; those that have begun may go on. Resolves when
   * all are over, by their END or because their client was silent too long. Idempotent.
   */
  finishSequences?(): Promise<void>;
  /** Refuses new requests from now on; resolves when every accepted one has ended. Idempotent. */
  stop(): Promise<void>;
}
