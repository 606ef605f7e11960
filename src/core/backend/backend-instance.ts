import type { Datatype } from "../../base/datatype.ts";
import type { InferenceError } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type { Parameters } from "../request/request-signature.ts";

/** One joined input of a batch: the requests' rows one after the other. */
export interface BatchInputTensor {
  /** Index into `ExecutionSignature.inputs`. */
  readonly index: number;
  readonly datatype: Datatype;
  /** Batch dimension included. */
  readonly shape: Shape;
  /** View into the input slab; 64-byte aligned in memory. Valid until `execute` is over. */
  readonly bytes: Uint8Array;
  /** Of `bytes`, which costs a view where only its length is asked for. */
  readonly byteLength: number;
  /** Address of `bytes` in this process. */
  readonly address: number;
}

/** Where one output of the batch lies. */
export interface OutputBuffer {
  readonly bytes: Uint8Array;
  readonly address: number;
}

/** One batch as an instance sees it. */
export interface ExecutionBatch {
  /** Rows in the batch. */
  readonly rowCount: number;
  /** Rows of each request, in order; sums to `rowCount` (all 1 for models without batching). */
  readonly requestRows: readonly number[];
  /** Absent optional inputs are not listed. */
  readonly inputs: readonly BatchInputTensor[];
  /** Outputs that at least one request wants, as indexes into `ExecutionSignature.outputs`, ascending. */
  readonly wantedOutputs: readonly number[];
  /**
   * Room in the output slab, 64-byte aligned, for one joined output. Fill it before `execute` is over. Calling it
   * again for the same output replaces the earlier room.
   */
  allocateOutput(index: number, datatype: Datatype, shape: Shape, byteLength: number): OutputBuffer;
  /** Declares that one request of the batch failed on its own; the others go on. */
  failRequest(requestIndex: number, error: InferenceError): void;
  /**
   * Parameters of the responses to this batch. Give the same object each time where they do not change: it is then
   * encoded once.
   * @param requestIndex undefined = all requests of the batch that have none of their own.
   */
  setResponseParameters(parameters: Parameters, requestIndex?: number): void;
  /** Calls between which the time counts as `compute_infer`; before and after it as input and output. */
  markInferStart(): void;
  markInferEnd(): void;
}

/**
 * Stops a running `execute` from the main thread, given the instance's {@link BackendInstance.cancelHandle}. The
 * backend forgets the request when the next `execute` starts.
 */
export type BackendCancel = (cancelHandle: number) => void;

/** Runs batches on one device. The host never overlaps two `execute` calls. */
export interface BackendInstance extends Disposable {
  /**
   * Runs one batch. Synchronous backends block their host, never the main thread.
   * @throws InferenceError when the whole batch is lost; the instance stays usable.
   */
  execute(batch: ExecutionBatch): void | Promise<void>;
  /**
   * An address (or other number) that lets the main thread stop a running `execute` from outside, with
   * {@link BackendCancel}; undefined where the runtime cannot.
   */
  readonly cancelHandle?: number | undefined;
}
