import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { InstancePool } from "../instance/instance-pool.ts";
import type { ModelStatistics } from "../statistics/model-statistics.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";

/**
 * Turns an output into its top classes (classification extension).
 *
 * @param output as the client would see it; with a batch dimension where the model batches.
 * @param classificationCount how many classes to keep per row, > 0.
 * @returns the BYTES tensor to answer instead. @throws InferenceError where the datatype has no order.
 */
export type ClassifyOutput = (
  output: Tensor,
  classificationCount: number,
  spec: TensorSpec,
  hasBatchDimension: boolean,
) => Tensor;

/** What `chooseScheduler` needs of one loaded version of a model. */
export interface SchedulerOptions {
  readonly config: ModelConfig;
  readonly signature: ExecutionSignature;
  /** Decimal text, as responses show it. */
  readonly versionText: string;
  readonly pool: InstancePool;
  readonly clock: Clock;
  readonly statistics: ModelStatistics;
  readonly classify: ClassifyOutput;
  readonly logger?: Logger;
}
