import { create } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import type { Datatype } from "../../src/base/datatype.ts";
import type { Shape } from "../../src/base/shape.ts";
import type { ExecutionSignature } from "../../src/core/backend/backend-model.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type { TensorSpec } from "../../src/core/tensor/tensor-spec.ts";

/** A tensor of a test's configuration; dims without the batch dimension. */
export interface SampleTensor extends Partial<Omit<TensorSpec, "name" | "datatype" | "dims">> {
  readonly name: string;
  readonly datatype: Datatype;
  readonly dims: Shape;
}

/** What {@link sampleConfig} fills up. */
export interface SampleConfigFields {
  readonly name?: string;
  readonly maxBatchSize?: number;
  readonly inputs: readonly SampleTensor[];
  readonly outputs?: readonly SampleTensor[];
}

/** A completed configuration without files. Its message holds little but the name. */
export function sampleConfig(fields: SampleConfigFields): ModelConfig {
  const name = fields.name ?? "m";
  return {
    message: create(ModelConfigSchema, { name, backend: "sample" }),
    name,
    platform: "sample",
    backend: "sample",
    maxBatchSize: fields.maxBatchSize ?? 0,
    inputs: fields.inputs.map(specOf),
    outputs: (fields.outputs ?? []).map(specOf),
    isDecoupled: false,
    parameters: {},
    metricTags: {},
  };
}

/** The execution order of a configuration: as listed, reshape applied, batch dimension in front. */
export function sampleSignature(config: ModelConfig): ExecutionSignature {
  const tensorOf = (spec: TensorSpec) => {
    const dims = spec.reshape ?? spec.dims;
    const hasBatch = config.maxBatchSize > 0 && !spec.isShapeTensor;
    return {
      name: spec.name,
      datatype: spec.datatype,
      shape: hasBatch ? [-1, ...dims] : dims,
    };
  };
  return {
    inputs: config.inputs.map(tensorOf),
    outputs: config.outputs.map(tensorOf),
    maxBatchSize: config.maxBatchSize,
  };
}

function specOf(tensor: SampleTensor): TensorSpec {
  return { isOptional: false, allowsRaggedBatch: false, isShapeTensor: false, ...tensor };
}
