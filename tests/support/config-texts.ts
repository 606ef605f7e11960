import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../src/base/error.ts";
import { parseConfigText } from "../../src/core/config/parse-config.ts";

/** Three lines that every configuration starts with. */
export const CONFIG_HEAD = 'name: "m"\nbackend: "onnxruntime"\nmax_batch_size: 8\n';

/** Two lines with an input and an output. */
export const CONFIG_TENSORS =
  'input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]\n' +
  'output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]\n';

/** A whole configuration of five lines. */
export const GOOD_CONFIG = CONFIG_HEAD + CONFIG_TENSORS;

/** The message of a config.pbtxt. */
export function configMessage(text: string): ModelConfigMessage {
  return parseConfigText(text, "config.pbtxt").message;
}

/** The message of the InferenceError INVALID_ARG that a call throws; "" when it throws nothing. */
export function refusalOf(call: () => unknown): string {
  try {
    call();
    return "";
  } catch (thrown) {
    return refusalText(thrown);
  }
}

/** Like {@link refusalOf}, for what fails later. */
export async function refusalOfPromise(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "";
  } catch (thrown) {
    return refusalText(thrown);
  }
}

function refusalText(thrown: unknown): string {
  if (thrown instanceof InferenceError && thrown.code === "INVALID_ARG") return thrown.message;
  throw thrown;
}
