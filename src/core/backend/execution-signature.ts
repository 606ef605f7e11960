import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import type { ExecutionSignature, ExecutionTensor } from "./backend-model.ts";

/**
 * The order of tensors in every batch of a model: inputs and outputs as its configuration lists them, then what the
 * scheduler of sequences adds: controls, then states; states that are listed as outputs keep their place there.
 */
export function executionSignatureFrom(config: ModelConfig): ExecutionSignature {
  const isBatching = config.maxBatchSize > 0;
  const tensor = (spec: TensorSpec) => executionTensor(spec, isBatching);
  const added = (name: string, datatype: Datatype, dims: Shape): ExecutionTensor => ({
    name,
    datatype,
    shape: isBatching ? [-1, ...dims] : dims,
  });
  const { controls = [], states = [] } = config.sequenceBatching ?? {};
  const listed = new Set(config.outputs.map(({ name }) => name));
  return {
    inputs: [
      ...config.inputs.map(tensor),
      ...controls.map(({ name, datatype }) => added(name, datatype, CONTROL_DIMS)),
      ...states.map(({ inputName, datatype, dims }) => added(inputName, datatype, dims)),
    ],
    outputs: [
      ...config.outputs.map(tensor),
      ...states
        .filter(({ outputName }) => !listed.has(outputName))
        .map(({ outputName, datatype, dims }) => added(outputName, datatype, dims)),
    ],
    maxBatchSize: config.maxBatchSize,
  };
}

/** A control has one element for each request. */
const CONTROL_DIMS: Shape = [1];

/** What the backend sees of a tensor: its reshape, and the batch dimension where the model has one. */
function executionTensor(spec: TensorSpec, isBatching: boolean): ExecutionTensor {
  const shape = spec.reshape ?? spec.dims;
  return {
    name: spec.name,
    datatype: spec.datatype,
    shape: isBatching && !spec.isShapeTensor ? [-1, ...shape] : shape,
  };
}
