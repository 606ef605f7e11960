import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import type { SequenceBatching } from "./sequence-batching.ts";

/**
 * A configuration that has been completed and validated: what the rest of the server asks about a model. Made once
 * at load and frozen. The protobuf message is kept whole, for the config endpoints and for backends.
 */
export interface ModelConfig {
  /** The completed message, every default filled in; what `ModelConfig` rpcs and `/config` show. */
  readonly message: ModelConfigMessage;
  readonly name: string;
  /** `platform`, or `backend` where the platform is empty: what model metadata shows. */
  readonly platform: string;
  /** Name in the backend catalog, for example `onnxruntime`; `ensemble` for ensembles. */
  readonly backend: string;
  /** 0 = shapes are exactly the dims, there is no batch dimension. */
  readonly maxBatchSize: number;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly isDecoupled: boolean;
  /** `sequence_batching`; undefined for models without. */
  readonly sequenceBatching?: SequenceBatching | undefined;
  /** The values of `parameters`, by key. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Extra metric labels of `metric_tags`, each already prefixed by `_`. */
  readonly metricTags: Readonly<Record<string, string>>;
}
