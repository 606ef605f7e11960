import { InferenceError } from "../../base/error.ts";
import type { ModelConfig } from "../config/model-config.ts";

type ConfigMessage = ModelConfig["message"];

/** A feature of the configuration that this server does not have, and whether a configuration asks for it. */
type UnservedFeature = readonly [words: string, isAsked: (message: ConfigMessage) => boolean];

const UNSERVED_FEATURES: readonly UnservedFeature[] = [
  ["model_repository_agents", (m) => (m.modelRepositoryAgents?.agents.length ?? 0) > 0],
  ["batch_input", (m) => m.batchInput.length > 0],
  ["batch_output", (m) => m.batchOutput.length > 0],
  ["allow_ragged_batch", (m) => m.input.some((input) => input.allowRaggedBatch)],
  [
    "parameters.TRITON_BATCH_STRATEGY_PATH",
    (m) => m.parameters["TRITON_BATCH_STRATEGY_PATH"] !== undefined,
  ],
];

/** Features whose absence costs time but changes no answer. */
const HARMLESS_FEATURES: readonly UnservedFeature[] = [
  ["response_cache", (m) => m.responseCache?.enable === true],
];

/**
 * Refuses a configuration that asks for what this server does not do and that changes answers, so that nobody
 * mistakes a model that loads for one that does what its configuration says. The rate limiter is neither refused nor
 * warned of: without `--rate-limit` it has no effect in Triton either.
 *
 * @param message a configuration that is free of contradictions.
 * @throws InferenceError UNSUPPORTED naming all such features.
 */
export function refuseUnserved(message: ConfigMessage): void {
  const asked = askedWords(UNSERVED_FEATURES, message);
  if (asked === "") return;
  throw new InferenceError(
    "UNSUPPORTED",
    `the configuration of model '${message.name}' asks for ${asked}, which this server does not serve yet`,
  );
}

/** One warning for all that a configuration asks for in vain and without harm; undefined where there is nothing. */
export function harmlessWarning(message: ConfigMessage): string | undefined {
  const asked = askedWords(HARMLESS_FEATURES, message);
  if (asked === "") return undefined;
  return `the configuration of model '${message.name}' asks for ${asked}, which has no effect yet`;
}

function askedWords(features: readonly UnservedFeature[], message: ConfigMessage): string {
  const asked = features.filter(([, isAsked]) => isAsked(message));
  return asked.map(([words]) => words).join(", ");
}
