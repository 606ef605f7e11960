import type { ModelConfig } from "../config/model-config.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import type { ExecutionSignature, ExecutionTensor } from "./backend-model.ts";

/** The order of tensors in every batch of a model: inputs and outputs as its configuration lists them. */
export function executionSignatureFrom(config: ModelConfig): ExecutionSignature {
  const tensor = (spec: TensorSpec) => executionTensor(spec, config.maxBatchSize > 0);
  return {
    inputs: config.inputs.map(tensor),
    outputs: config.outputs.map(tensor),
    maxBatchSize: config.maxBatchSize,
  };
}

/** What the backend sees of a tensor: its reshape, and the batch dimension where the model has one. */
function executionTensor(spec: TensorSpec, isBatching: boolean): ExecutionTensor {
  const shape = spec.reshape ?? spec.dims;
  return {
    name: spec.name,
    datatype: spec.datatype,
    shape: isBatching && !spec.isShapeTensor ? [-1, ...shape] : shape,
  };
}
