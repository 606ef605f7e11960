import { create } from "@bufbuild/protobuf";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import {
  ModelOptimizationPolicy_PinnedMemoryBufferSchema,
  ModelOptimizationPolicySchema,
  ModelVersionPolicySchema,
} from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../base/error.ts";
import { ENSEMBLE_PLATFORM } from "./backend-names.ts";
import { detectBackend } from "./detect-backend.ts";

/** Idle time after which a sequence is ended where the configuration gives none. */
const DEFAULT_SEQUENCE_IDLE_MICROSECONDS = 1_000_000n;

/**
 * First step after reading: the name, the backend and the defaults that need no look into the model.
 *
 * @param message is changed.
 * @param modelName name of the model directory.
 * @param modelDirectory absolute.
 * @throws InferenceError INVALID_ARG for a name other than the directory's, or when nothing tells the backend.
 */
export async function normalizeConfig(
  message: ModelConfigMessage,
  modelName: string,
  modelDirectory: string,
): Promise<void> {
  if (message.name === "") message.name = modelName;
  if (message.name !== modelName) {
    throw new InferenceError(
      "INVALID_ARG",
      `unexpected directory name '${modelName}' for model '${message.name}', directory name must equal model name`,
    );
  }
  await detectBackend(message, modelName, modelDirectory);
  fillDefaults(message);
}

/**
 * Fills in the defaults that depend on other fields. Runs again after completion, which may have chosen a batch size
 * and a scheduler. Idempotent.
 *
 * @param message is changed.
 */
export function fillDefaults(message: ModelConfigMessage): void {
  if (message.versionPolicy?.policyChoice.case === undefined) {
    message.versionPolicy = create(ModelVersionPolicySchema, {
      policyChoice: { case: "latest", value: { numVersions: 1 } },
    });
  }
  fillSchedulingDefaults(message);
  if (message.platform !== ENSEMBLE_PLATFORM) fillOptimizationDefaults(message);
}

function fillSchedulingDefaults(message: ModelConfigMessage): void {
  const { schedulingChoice, maxBatchSize } = message;
  if (schedulingChoice.case === "dynamicBatching") {
    const { preferredBatchSize } = schedulingChoice.value;
    if (preferredBatchSize.length === 0 && maxBatchSize > 0) preferredBatchSize.push(maxBatchSize);
  } else if (schedulingChoice.case === "sequenceBatching") {
    const batching = schedulingChoice.value;
    if (batching.maxSequenceIdleMicroseconds === 0n) {
      batching.maxSequenceIdleMicroseconds = DEFAULT_SEQUENCE_IDLE_MICROSECONDS;
    }
    if (batching.strategyChoice.case === "oldest") {
      const { preferredBatchSize } = batching.strategyChoice.value;
      if (preferredBatchSize.length === 0 && maxBatchSize > 0) {
        preferredBatchSize.push(maxBatchSize);
      }
    }
  }
}

function fillOptimizationDefaults(message: ModelConfigMessage): void {
  message.optimization ??= create(ModelOptimizationPolicySchema);
  const { optimization } = message;
  const pinned = () => create(ModelOptimizationPolicy_PinnedMemoryBufferSchema, { enable: true });
  optimization.inputPinnedMemory ??= pinned();
  optimization.outputPinnedMemory ??= pinned();
}
