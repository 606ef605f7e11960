import { create } from "@bufbuild/protobuf";
import type {
  ModelConfig as ModelConfigMessage,
  ModelInput,
  ModelOutput,
} from "#gen/inference/model_config_pb.ts";
import {
  DataType,
  ModelDynamicBatchingSchema,
  ModelInputSchema,
  ModelOutputSchema,
  ModelTensorReshapeSchema,
} from "#gen/inference/model_config_pb.ts";
import type { Datatype } from "../../base/datatype.ts";
import { DATATYPES } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import { fillDefaults } from "./normalize-config.ts";

/** What completion reads of one tensor of a backend's `ReportedTensor`. */
export interface CompletionTensor {
  readonly name: string;
  readonly datatype: Datatype | undefined;
  readonly nativeType: string;
  readonly shape: Shape | undefined;
  readonly isOptional: boolean;
}

/** What completion reads of a backend's `ModelReport`. */
export interface CompletionReport {
  readonly inputs: readonly CompletionTensor[];
  readonly outputs: readonly CompletionTensor[];
}

/** Options of {@link completeConfig}. */
export interface CompleteConfigOptions {
  /** Fields that the author wrote, as `ParsedConfig` has them: a written `max_batch_size: 0` stays. */
  readonly givenFields: ReadonlySet<string>;
  /** Batch size for models that can batch and say nothing; see {@link defaultMaxBatchSizeFrom}. */
  readonly defaultMaxBatchSize: number;
}

type Side = "input" | "output";

/**
 * Fills in what the author left out: inputs, outputs, batch size and dynamic batching. A configuration with both
 * lists is left as it is, except for tensors that give neither data type nor dims.
 *
 * @param message is changed. Normalised.
 * @param report what the model file says; without any tensor nothing is completed.
 * @throws InferenceError INVALID_ARG where the configuration asks for batching and the model cannot, or where a
 *   tensor to complete has a type that the protocol lacks.
 * @see Triton docs, "Auto-Generated Model Configuration"; onnxruntime_backend README.
 */
export function completeConfig(
  message: ModelConfigMessage,
  report: CompletionReport,
  options: CompleteConfigOptions,
): void {
  const isMissing = message.input.length === 0 || message.output.length === 0;
  const isBlank = [...message.input, ...message.output].some(saysNothing);
  if ((isMissing || isBlank) && report.inputs.length + report.outputs.length > 0) {
    completeBatching(message, report, options);
    const fill = (side: Side, reported: readonly CompletionTensor[]) =>
      completeSide(message, side, reported);
    fill("input", report.inputs);
    fill("output", report.outputs);
  }
  fillDefaults(message);
}

/** Where `--backend-config` names no `default-max-batch-size`. */
const DEFAULT_MAX_BATCH_SIZE = 4;

/**
 * `default-max-batch-size` of the backend's settings.
 *
 * @param backendConfig `--backend-config` settings of the backend, global ones included.
 * @throws InferenceError INVALID_ARG for what is no whole number.
 */
export function defaultMaxBatchSizeFrom(backendConfig: Readonly<Record<string, string>>): number {
  const text = backendConfig["default-max-batch-size"];
  if (text === undefined) return DEFAULT_MAX_BATCH_SIZE;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InferenceError(
    "INVALID_ARG",
    `--backend-config default-max-batch-size must be a whole number, got '${text}'`,
  );
}

/** A tensor that gives its name (and perhaps labels or the like) and leaves type and dims to completion. */
function saysNothing({ dataType, dims }: ModelInput | ModelOutput): boolean {
  return dataType === DataType.TYPE_INVALID && dims.length === 0;
}

function completeBatching(
  message: ModelConfigMessage,
  report: CompletionReport,
  options: CompleteConfigOptions,
): void {
  const canBatch = [...report.inputs, ...report.outputs].every(
    ({ shape, isOptional }) => isOptional || shape?.[0] === -1,
  );
  if (!canBatch) {
    if (message.maxBatchSize === 0) return;
    throw new InferenceError(
      "INVALID_ARG",
      `autofill failed for model '${message.name}': model does not support batching while non-zero ` +
        "max_batch_size is specified",
    );
  }
  // Triton cannot tell a written 0 from nothing; for us the author has the last word.
  const leavesItOpen = message.maxBatchSize === 0 && !options.givenFields.has("max_batch_size");
  if (leavesItOpen && !hasWholeShapes(message, report)) {
    message.maxBatchSize = options.defaultMaxBatchSize;
  }
  if (message.maxBatchSize > 1 && message.schedulingChoice.case === undefined) {
    message.schedulingChoice = {
      case: "dynamicBatching",
      value: create(ModelDynamicBatchingSchema),
    };
  }
}

/** Whether the author wrote a tensor's shape with its first dimension, and so means a model without batching. */
function hasWholeShapes(message: ModelConfigMessage, report: CompletionReport): boolean {
  const reported = [...report.inputs, ...report.outputs];
  return [...message.input, ...message.output].some(({ name, dims, reshape }) => {
    const rank = reported.find((tensor) => tensor.name === name)?.shape?.length;
    return (reshape?.shape ?? dims).length === rank;
  });
}

function completeSide(
  message: ModelConfigMessage,
  side: Side,
  reported: readonly CompletionTensor[],
): void {
  const given: readonly (ModelInput | ModelOutput)[] = message[side];
  if (given.length > 0) {
    for (const tensor of given.filter(saysNothing)) {
      const match = reported.find(({ name }) => name === tensor.name);
      if (match !== undefined) fillTensor(message, side, tensor, match);
    }
    return;
  }
  const hidden = sequenceTensors(message, side);
  for (const one of reported) {
    // What the model can do without is no part of its interface unless the author lists it.
    if (one.isOptional || hidden.has(one.name)) continue;
    if (side === "input") {
      const input = create(ModelInputSchema, { name: one.name });
      fillTensor(message, side, input, one);
      message.input.push(input);
    } else {
      const output = create(ModelOutputSchema, { name: one.name });
      fillTensor(message, side, output, one);
      message.output.push(output);
    }
  }
}

/** Tensors between the model and the scheduler of its sequences, which clients neither send nor get. */
function sequenceTensors({ schedulingChoice }: ModelConfigMessage, side: Side): Set<string> {
  if (schedulingChoice.case !== "sequenceBatching") return new Set();
  const { controlInput, state } = schedulingChoice.value;
  if (side === "output") return new Set(state.map(({ outputName }) => outputName));
  return new Set([
    ...controlInput.map(({ name }) => name),
    ...state.map(({ inputName }) => inputName),
  ]);
}

function fillTensor(
  message: ModelConfigMessage,
  side: Side,
  tensor: ModelInput | ModelOutput,
  reported: CompletionTensor,
): void {
  if (reported.datatype === undefined) {
    throw new InferenceError(
      "INVALID_ARG",
      `autofill failed for model '${message.name}': ${side} '${reported.name}' has the type ` +
        `'${reported.nativeType}', which has no counterpart in the inference protocol`,
    );
  }
  tensor.dataType = configDataType(reported.datatype);
  const isBatching = message.maxBatchSize > 0;
  const dims = (reported.shape ?? []).slice(isBatching ? 1 : 0);
  // A configuration cannot say "no dimensions": one element stands for it, and the model gets its own shape back.
  // Nor can it say "no elements": a dimension that is 0 in the file is left free, and the runtime checks it.
  if (dims.length > 0) tensor.dims = dims.map((dim) => BigInt(dim === 0 ? -1 : dim));
  else {
    tensor.dims = [1n];
    if (isBatching) tensor.reshape ??= create(ModelTensorReshapeSchema);
  }
}

function configDataType(datatype: Datatype): DataType {
  const { code } = DATATYPES[datatype];
  const value = Object.values(DataType).find((one) => one === code);
  return value ?? DataType.TYPE_INVALID;
}
