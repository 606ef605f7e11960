import type { InferenceRequest } from "./inference-request.ts";

/** Requests that run as one execution, in arrival order. All have the same `validated.mergeKey`, or are ragged. */
export interface Batch {
  readonly requests: readonly InferenceRequest[];
  /** Sum of the requests' batch sizes; at most `max_batch_size` (1 for a model without batching). */
  readonly rowCount: number;
}
