import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";

/** What a model promises about one input or output. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** As clients see it, without the batch dimension; −1 stands for any size. */
  readonly dims: Shape;
  /** As the backend sees it, without the batch dimension, where the config gives a `reshape`. */
  readonly reshape?: Shape;
  /** Inputs only: the request may leave it out. */
  readonly isOptional: boolean;
  /** Inputs only: requests of different shapes may share a batch (`allow_ragged_batch`). */
  readonly allowsRaggedBatch: boolean;
  /** Its value is a shape (TensorRT); it has no batch dimension. */
  readonly isShapeTensor: boolean;
  /** Outputs only: class names by index, from `label_filename`. */
  readonly labels?: readonly string[];
}
