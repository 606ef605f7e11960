import type { ExecutionResult } from "../instance/model-instance.ts";
import type { Batch } from "../request/batch.ts";
import type { InferenceRequest } from "../request/inference-request.ts";

/** A batch that has run and waits for those before it. */
interface KeptBatch {
  readonly batch: Batch;
  readonly result: ExecutionResult;
  readonly deliver: (result: ExecutionResult) => void;
}

/**
 * Holds finished batches back until every request that came before theirs has left (`preserve_ordering`). Batches
 * are made of requests in arrival order, so whole batches can be held. Outputs that have to wait are copied, because
 * their instance goes on.
 */
export class ResponseOrder {
  /** Requests that have not left, in arrival order. */
  readonly #open = new Set<InferenceRequest>();
  readonly #kept = new Map<InferenceRequest, KeptBatch>();

  opened(request: InferenceRequest): void {
    this.#open.add(request);
  }

  /** The request left the queue without running. */
  abandoned(request: InferenceRequest): void {
    this.#open.delete(request);
    this.#release();
  }

  /** Delivers a batch now, or keeps it until its turn has come. */
  deliver(batch: Batch, result: ExecutionResult, deliver: (result: ExecutionResult) => void): void {
    const [first] = batch.requests;
    if (first === undefined) return;
    if (this.#isNext(first)) {
      this.#leave({ batch, result, deliver });
      this.#release();
      return;
    }
    const outputs = result.outputs.map((output) => ({ ...output, bytes: output.bytes.slice() }));
    this.#kept.set(first, { batch, result: { ...result, outputs }, deliver });
  }

  #isNext(request: InferenceRequest): boolean {
    const [next] = this.#open;
    return next === request;
  }

  #leave({ batch, result, deliver }: KeptBatch): void {
    for (const request of batch.requests) this.#open.delete(request);
    deliver(result);
  }

  #release(): void {
    for (const next of this.#open) {
      const kept = this.#kept.get(next);
      if (kept === undefined) return;
      this.#kept.delete(next);
      this.#leave(kept);
    }
  }
}
