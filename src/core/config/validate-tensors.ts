import type {
  ModelConfig as ModelConfigMessage,
  ModelInput,
  ModelOutput,
} from "#gen/inference/model_config_pb.ts";
import {
  BatchInput_KindSchema,
  BatchOutput_KindSchema,
  DataType,
  ModelInput_Format,
} from "#gen/inference/model_config_pb.ts";
import { ConfigFaults } from "./config-faults.ts";
import { compareReshape, isDimension } from "./dimensions.ts";
import { enumName } from "./field-words.ts";

/** Options of {@link validateTensors}. */
export interface ValidateTensorsOptions {
  /**
   * Names of tensors that the model file has as scalars (rank 0), where it was looked at. Only they may have an
   * empty `reshape` in a model without batching: our own addition, which Triton does not know.
   */
  readonly scalarTensors?: ReadonlySet<string>;
}

const TENSORRT_PLATFORM = "tensorrt_plan";

/**
 * Checks inputs, outputs, batch inputs and batch outputs of a completed configuration.
 *
 * @throws InferenceError INVALID_ARG listing all faults, in Triton's words.
 * @see Triton docs, "Model Configuration", "Inputs and Outputs", "Reshape"; "Ragged Batching".
 */
export function validateTensors(
  message: ModelConfigMessage,
  options: ValidateTensorsOptions = {},
): void {
  const faults = new ConfigFaults();
  const scalars = declaredScalars(message, options.scalarTensors ?? new Set());
  const check = (kind: "input" | "output", tensors: readonly (ModelInput | ModelOutput)[]) => {
    const seen = new Set<string>();
    for (const tensor of tensors) {
      checkTensor(message, kind, tensor, scalars.has(tensor.name), faults);
      faults.require(
        tensor.name === "" || !seen.has(tensor.name),
        () => `model ${kind} '${tensor.name}' is specified more than once for ${message.name}`,
      );
      seen.add(tensor.name);
    }
  };
  check("input", message.input);
  check("output", message.output);
  for (const input of message.input) checkInput(message, input, faults);
  checkBatchTensors(message, faults);
  faults.throwIfAny();
}

/**
 * Scalars of the model file, provided that the configuration declares each of them with one element. Otherwise
 * none, so that Triton's words about scalars come first.
 */
function declaredScalars(
  message: ModelConfigMessage,
  scalarTensors: ReadonlySet<string>,
): ReadonlySet<string> {
  const areDeclared = [...message.input, ...message.output].every(
    ({ name, dims }) => !scalarTensors.has(name) || dims.every((dim) => dim === 1n),
  );
  return areDeclared ? scalarTensors : new Set();
}

function checkTensor(
  message: ModelConfigMessage,
  kind: "input" | "output",
  tensor: ModelInput | ModelOutput,
  isScalar: boolean,
  faults: ConfigFaults,
): void {
  const { name: model, platform } = message;
  if (tensor.name === "") {
    faults.add(`model ${kind} must specify 'name' for ${model}`);
    return;
  }
  const start = `model ${kind} '${tensor.name}'`;
  faults.require(
    tensor.dataType !== DataType.TYPE_INVALID,
    () => `${start} must specify 'data_type' for ${model}`,
  );
  faults.require(tensor.dims.length > 0, () => `${start} must specify 'dims' for ${model}`);
  const hasGoodDims = faults.require(
    tensor.dims.every(isDimension),
    () =>
      `${start} dimension must be integer >= 1, or -1 to indicate a variable-size dimension for ${model}`,
  );
  if (hasGoodDims && tensor.dims.length > 0) {
    checkReshape(message, start, tensor, isScalar, faults);
  }
  faults.require(
    !tensor.isShapeTensor || platform === TENSORRT_PLATFORM,
    () =>
      `${start}: shape tensors are only supported for platform '${TENSORRT_PLATFORM}' for ${model}`,
  );
  if (!tensor.isNonLinearFormatIo) return;
  faults.require(
    platform === TENSORRT_PLATFORM,
    () =>
      `${start}: non-linear format is only supported for platform '${TENSORRT_PLATFORM}' for ${model}`,
  );
  faults.require(
    tensor.dims.length === 3,
    () => `${start}: non-linear format requires 3 dims for ${model}`,
  );
}

function checkReshape(
  { name: model, maxBatchSize }: ModelConfigMessage,
  start: string,
  { dims, reshape }: ModelInput | ModelOutput,
  isScalar: boolean,
  faults: ConfigFaults,
): void {
  if (reshape === undefined) return;
  const { shape } = reshape;
  if (shape.length === 0 && maxBatchSize === 0 && !isScalar) {
    faults.add(
      `${start} cannot have empty reshape for non-batching model as scalar tensors are not supported for ${model}`,
    );
    return;
  }
  const hasGoodShape = faults.require(
    shape.every(isDimension),
    () =>
      `${start} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for ${model}`,
  );
  if (!hasGoodShape) return;
  const fault = compareReshape(dims, shape);
  if (fault === "size") {
    faults.add(`${start} has different size for dims and reshape for ${model}`);
  } else if (fault === "free-count") {
    faults.add(
      `${start} has different number of variable-size dimensions for dims and reshape for ${model}`,
    );
  }
}

function checkInput(message: ModelConfigMessage, input: ModelInput, faults: ConfigFaults): void {
  const { name: model } = message;
  faults.require(
    input.format === ModelInput_Format.NONE || input.dims.length === 3,
    () => `model input '${input.name}': NHWC/NCHW require 3 dims for ${model}`,
  );
  faults.require(
    !input.allowRaggedBatch || message.maxBatchSize > 0,
    () =>
      `model input '${input.name}': 'allow_ragged_batch' needs a max_batch_size > 0 for ${model}`,
  );
}

function checkBatchTensors(message: ModelConfigMessage, faults: ConfigFaults): void {
  const { name: model } = message;
  const inputs = new Set(message.input.map(({ name }) => name));
  const outputs = new Set(message.output.map(({ name }) => name));
  for (const { kind, targetName, dataType, sourceInput } of message.batchInput) {
    const start = `batch input kind '${enumName(BatchInput_KindSchema, kind)}'`;
    checkSource(start, sourceInput, inputs, model, faults);
    faults.require(targetName.length > 0, () => `${start} must specify 'target_name' for ${model}`);
    for (const target of targetName) {
      faults.require(
        !inputs.has(target),
        () =>
          `${start}: target '${target}' must not be a model input of the configuration for ${model}`,
      );
    }
    faults.require(
      dataType === DataType.TYPE_INT32 || dataType === DataType.TYPE_FP32,
      () => `${start}: data type must be TYPE_INT32 or TYPE_FP32 for ${model}`,
    );
  }
  for (const { kind, targetName, sourceInput } of message.batchOutput) {
    const start = `batch output kind '${enumName(BatchOutput_KindSchema, kind)}'`;
    checkSource(start, sourceInput, inputs, model, faults);
    faults.require(targetName.length > 0, () => `${start} must specify 'target_name' for ${model}`);
    for (const target of targetName) {
      faults.require(
        outputs.has(target),
        () => `unknown target output name '${target}' for ${model}`,
      );
    }
  }
}

function checkSource(
  start: string,
  sourceInput: readonly string[],
  inputs: ReadonlySet<string>,
  model: string,
  faults: ConfigFaults,
): void {
  faults.require(
    sourceInput.length === 1,
    () => `${start} expects 1 source input, got ${sourceInput.length} for ${model}`,
  );
  for (const source of sourceInput) {
    faults.require(inputs.has(source), () => `unknown source input name '${source}' for ${model}`);
  }
}
