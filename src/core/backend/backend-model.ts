import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";
import type { BackendInstance } from "./backend-instance.ts";

/** An input or output as the model file has it. */
export interface ReportedTensor {
  readonly name: string;
  /** undefined where the model's type has no counterpart in the protocol. */
  readonly datatype: Datatype | undefined;
  /** The model's own word for the type, for messages. */
  readonly nativeType: string;
  /** Full shape as the file has it, −1 for free dimensions; undefined when the rank itself is free. */
  readonly shape: Shape | undefined;
  /** Inputs that the model can do without (ONNX initialisers that are also inputs). */
  readonly isOptional: boolean;
}

/** What a model file says about itself. Plain data. */
export interface ModelReport {
  readonly inputs: readonly ReportedTensor[];
  readonly outputs: readonly ReportedTensor[];
  /** Reuse this in other hosts of the same process (`OpenModelOptions.sharedHandle`); undefined = cannot be shared. */
  readonly sharedHandle?: number | undefined;
  /**
   * The whole configuration as JSON, for models that complete it themselves (Python's `auto_complete_config`). Takes
   * the place of what `inputs` and `outputs` would say.
   */
  readonly completedConfigJson?: string | undefined;
}

/** An input or output in the order in which batches carry them. Plain data. */
export interface ExecutionTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** As the backend sees it: reshape applied, batch dimension (−1) included where the model batches. */
  readonly shape: Shape;
}

/** The order of tensors in every batch of one model. Index i here is index i in batch frames. */
export interface ExecutionSignature {
  readonly inputs: readonly ExecutionTensor[];
  readonly outputs: readonly ExecutionTensor[];
  readonly maxBatchSize: number;
}

/** One opened version of a model in one instance host. */
export interface BackendModel extends Disposable {
  readonly report: ModelReport;
  /**
   * Makes one instance. Several instances of a model may run at once, each in its own host.
   * @param config the completed configuration, in the form of `core/config/config-bytes.ts`.
   * @throws InferenceError where the completed configuration does not fit the model.
   */
  createInstance(
    name: string,
    signature: ExecutionSignature,
    config: Uint8Array,
  ): Promise<BackendInstance>;
}
