import { join } from "node:path";
import type {
  ModelConfig as ModelConfigMessage,
  ModelInput,
  ModelOutput,
} from "#gen/inference/model_config_pb.ts";
import { datatypeFromCode } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import { ENSEMBLE_PLATFORM } from "./backend-names.ts";
import type { ModelConfig } from "./model-config.ts";
import { readRegularFile } from "./read-regular-file.ts";
import { sequenceBatchingFrom } from "./sequence-batching.ts";

/**
 * Makes the frozen configuration that the rest of the server asks, label files and initial states included.
 *
 * @param message completed and validated; owned by the result from here on.
 * @param modelDirectory absolute; files are relative to it.
 * @throws InferenceError INVALID_ARG naming a file that cannot be read.
 */
export async function modelConfigFromMessage(
  message: ModelConfigMessage,
  modelDirectory: string,
): Promise<ModelConfig> {
  const outputs = await Promise.all(
    message.output.map((output) => outputSpec(message, output, modelDirectory)),
  );
  const isEnsemble = message.platform === ENSEMBLE_PLATFORM;
  return Object.freeze({
    message,
    name: message.name,
    platform: message.platform === "" ? message.backend : message.platform,
    backend: isEnsemble ? ENSEMBLE_PLATFORM : message.backend,
    maxBatchSize: message.maxBatchSize,
    inputs: message.input.map((input) => inputSpec(message, input)),
    outputs,
    sequenceBatching: await sequenceBatchingFrom(message, modelDirectory),
    isDecoupled: message.modelTransactionPolicy?.decoupled ?? false,
    parameters: Object.fromEntries(
      Object.entries(message.parameters).map(([key, value]) => [key, value.stringValue]),
    ),
    metricTags: Object.fromEntries(
      Object.entries(message.metricTags).map(([key, value]) => [`_${key}`, value]),
    ),
  });
}

function inputSpec(message: ModelConfigMessage, input: ModelInput): TensorSpec {
  return {
    ...commonSpec(message, input),
    isOptional: input.optional,
    allowsRaggedBatch: input.allowRaggedBatch,
  };
}

async function outputSpec(
  message: ModelConfigMessage,
  output: ModelOutput,
  modelDirectory: string,
): Promise<TensorSpec> {
  const spec = { ...commonSpec(message, output), isOptional: false, allowsRaggedBatch: false };
  if (output.labelFilename === "") return spec;
  return { ...spec, labels: await readLabels(join(modelDirectory, output.labelFilename)) };
}

function commonSpec(
  message: ModelConfigMessage,
  tensor: ModelInput | ModelOutput,
): Omit<TensorSpec, "isOptional" | "allowsRaggedBatch"> {
  const datatype = datatypeFromCode(tensor.dataType);
  if (datatype === undefined) {
    throw new InferenceError(
      "INTERNAL",
      `model '${message.name}', tensor '${tensor.name}': the configuration was not validated`,
    );
  }
  return {
    name: tensor.name,
    datatype,
    dims: tensor.dims.map(Number),
    ...(tensor.reshape && { reshape: tensor.reshape.shape.map(Number) }),
    isShapeTensor: tensor.isShapeTensor,
  };
}

/** One label a line, the line's index being the class; a last line feed ends the last label. */
async function readLabels(path: string): Promise<readonly string[]> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await readRegularFile(path));
  } catch (thrown) {
    const isMissing = (thrown as { readonly code?: unknown }).code === "ENOENT";
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    throw new InferenceError(
      "INVALID_ARG",
      `failed to open text file for read ${path}: ${isMissing ? "No such file or directory" : message}`,
      { cause: thrown },
    );
  }
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
