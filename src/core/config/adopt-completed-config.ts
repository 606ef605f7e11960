import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { parseConfigJson } from "./parse-config.ts";

/**
 * Takes over what a model said about itself (`auto_complete_config` of a Python model). Only the fields that a
 * backend may complete change: batch size, inputs, outputs, transaction policy, and the scheduler where there was none.
 *
 * @param completedJson the whole configuration as the model returned it.
 * @throws InferenceError INVALID_ARG naming the field that makes no sense.
 */
export function adoptCompletedConfig(message: ModelConfigMessage, completedJson: string): void {
  const { message: completed } = parseConfigJson(completedJson, "auto_complete_config");
  message.maxBatchSize = completed.maxBatchSize;
  message.input = completed.input;
  message.output = completed.output;
  if (completed.modelTransactionPolicy !== undefined) {
    message.modelTransactionPolicy = completed.modelTransactionPolicy;
  }
  if (message.schedulingChoice.case === undefined) {
    message.schedulingChoice = completed.schedulingChoice;
  }
  const { schedulingChoice } = message;
  if (
    schedulingChoice.case === "dynamicBatching" &&
    schedulingChoice.value.preferredBatchSize.length === 0 &&
    message.maxBatchSize > 0
  ) {
    schedulingChoice.value.preferredBatchSize = [message.maxBatchSize];
  }
}
