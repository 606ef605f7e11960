import { InferenceError } from "../../base/error.ts";
import type { ModelConfig } from "../config/model-config.ts";

type ConfigMessage = ModelConfig["message"];

/** A feature of the configuration that this server does not have, and whether a configuration asks for it. */
type UnservedFeature = readonly [words: string, isAsked: (message: ConfigMessage) => boolean];

const UNSERVED_FEATURES: readonly UnservedFeature[] = [
  ["ensemble_scheduling", (m) => m.schedulingChoice.case === "ensembleScheduling"],
  // A sample of batch size 0 is skipped by Triton too.
  ["model_warmup", (m) => m.modelWarmup.some((sample) => sample.batchSize > 0)],
  ["model_repository_agents", (m) => (m.modelRepositoryAgents?.agents.length ?? 0) > 0],
  ["batch_input", (m) => m.batchInput.length > 0],
  ["batch_output", (m) => m.batchOutput.length > 0],
  ["allow_ragged_batch", (m) => m.input.some((input) => input.allowRaggedBatch)],
  [
    "parameters.TRITON_BATCH_STRATEGY_PATH",
    (m) => m.parameters["TRITON_BATCH_STRATEGY_PATH"] !== undefined,
  ],
];

/**
 * Refuses a configuration that asks for what this server does not do, so that nobody mistakes a model that loads for
 * one that does what its configuration says.
 *
 * What has no effect in Triton's default settings either is not refused: the response cache without
 * `--cache-config`, the rate limiter without `--rate-limit`.
 *
 * @param message a configuration that is free of contradictions.
 * @throws InferenceError UNSUPPORTED naming all such features.
 */
export function refuseUnserved(message: ConfigMessage): void {
  const asked = UNSERVED_FEATURES.filter(([, isAsked]) => isAsked(message));
  if (asked.length === 0) return;
  throw new InferenceError(
    "UNSUPPORTED",
    `the configuration of model '${message.name}' asks for ${asked.map(([words]) => words).join(", ")}, ` +
      "which this server does not serve yet",
  );
}
