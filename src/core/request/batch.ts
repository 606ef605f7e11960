import type { Shape } from "../../base/shape.ts";
import type { InferenceRequest } from "./inference-request.ts";

/** Requests that run as one execution, in arrival order. All have the same `validated.mergeKey`, or are ragged. */
export interface Batch {
  readonly requests: readonly InferenceRequest[];
  /** Sum of the requests' batch sizes; at most `max_batch_size` (1 for a model without batching). */
  readonly rowCount: number;
  /** What the scheduler adds to the requests; undefined for models without sequences. */
  readonly extras?: BatchExtras;
}

/** Tensors between scheduler and model that clients know nothing of: controls and states of sequences. */
export interface BatchExtras {
  readonly inputs: readonly ExtraInput[];
  /** Outputs that the scheduler wants, whatever the requests want; indexes into `ExecutionSignature.outputs`. */
  readonly outputIndexes: readonly number[];
}

/** One added input, for all requests of a batch. Each request of such a batch has one row. */
export interface ExtraInput {
  /** Index into `ExecutionSignature.inputs`. */
  readonly index: number;
  /** For one request; batch dimension included where the model batches. */
  readonly shape: Shape;
  /** Bytes for each request of the batch. */
  readonly bytes: readonly Uint8Array[];
}
