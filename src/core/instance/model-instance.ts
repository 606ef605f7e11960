import type { Datatype } from "../../base/datatype.ts";
import type { InferenceError } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type { Batch } from "../request/batch.ts";
import type { RequestAnswers } from "../request/request-answers.ts";
import type { Parameters } from "../request/request-signature.ts";

/** One joined output of an execution; `bytes` are borrowed until `onExecuted` returns. */
export interface JoinedOutput {
  /** Index into `ExecutionSignature.outputs`. */
  readonly index: number;
  readonly datatype: Datatype;
  /** Batch dimension included. */
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** How one batch ended. */
export interface ExecutionResult {
  /** Set when the whole batch failed; the other fields are then empty. */
  readonly error: InferenceError | undefined;
  /**
   * True when the instance answers request by request through {@link RequestAnswers}, during the execution or after
   * it; `outputs` is then empty, and an `error` ends the requests that have no end yet.
   */
  readonly isAnsweredByInstance?: boolean;
  readonly outputs: readonly JoinedOutput[];
  /** Failures of single requests, by their index in the batch. */
  readonly requestErrors: ReadonlyMap<number, InferenceError>;
  /** Response parameters of every request that has none in `requestParameters`. */
  readonly sharedParameters: Parameters;
  /** Response parameters of single requests, by their index in the batch. */
  readonly requestParameters: ReadonlyMap<number, Parameters>;
  /** Time spent in the host, in ns, as the backend marked it. */
  readonly computeInputNs: number;
  readonly computeInferNs: number;
  readonly computeOutputNs: number;
}

/**
 * Main-thread handle on one instance of a model, wherever that lives (Worker, child process, Python).
 * Runs one batch at a time; further ones may be there already, so that it need not wait for the main thread.
 */
export interface ModelInstance {
  readonly name: string;
  /** Batches that it can have at once, the one that runs among them; 1.. */
  readonly capacity: number;
  /** False while starting, restarting after a crash, or disposed: the pool gives it no work. */
  readonly isReady: boolean;
  /**
   * Copies the batch's inputs into one of the instance's slabs (the one copy of input bytes on the request path). The
   * batch runs after those before it. Must not be called while the instance has {@link capacity} batches.
   *
   * @param onExecuted called exactly once on the main thread, not from inside `execute`. Another `execute` may be
   *   called from inside it, before its outputs are read: they stay intact until it returns.
   * @param answers for instances that answer request by request; see {@link ExecutionResult.isAnsweredByInstance}.
   */
  execute(
    batch: Batch,
    onExecuted: (result: ExecutionResult) => void,
    answers: RequestAnswers,
  ): void;
  /**
   * Asks a batch to stop early, or not to start; it then ends with CANCELLED. Does nothing where the runtime cannot, and
   * for a batch that the instance does not have.
   */
  cancel(batch: Batch): void;
  /** Waits for the batches that it has, then frees everything. Idempotent. */
  dispose(): Promise<void>;
}
