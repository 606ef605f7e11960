import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { ModelStatistics } from "../statistics/model-statistics.ts";

/** One version of a model, loaded and able to serve. */
export interface Model {
  readonly name: string;
  /** Number of the version directory. */
  readonly version: number;
  /** The same as decimal text, as the wire shows it. */
  readonly versionText: string;
  readonly config: ModelConfig;
  readonly executionSignature: ExecutionSignature;
  readonly scheduler: Scheduler;
  readonly statistics: ModelStatistics;
  /** From the begin of the load to READY (`nv_model_load_duration_secs`). */
  readonly loadDurationNs: number;
  /** False when its backend says that it cannot serve just now (all instances down). */
  readonly isHealthy: boolean;
  /** Asks the model itself whether it can serve; absent where the model has no say. */
  checkReady?(): Promise<boolean>;
  /** True for an ensemble once a model it stands on was replaced or has left: it serves on, and has to be loaded anew. */
  readonly isStale?: boolean;
  /**
   * Keeps the model from being drained and freed, whatever becomes of it, until the returned function is called;
   * requests of the holder are served until then. Absent where nothing has to wait.
   */
  hold?(): () => void;
  /** Validates against this model (memoised on the signature) and enqueues. @throws InferenceError; see Scheduler.enqueue. */
  submit(request: InferenceRequest): void;
  /** Drains, then frees, in reverse order of creation. Idempotent. */
  dispose(): Promise<void>;
}
