import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { ENSEMBLE_PLATFORM, platformsOf } from "./backend-names.ts";
import { ConfigFaults } from "./config-faults.ts";
import { checkDynamicBatching } from "./validate-dynamic-batching.ts";
import { checkEnsemble } from "./validate-ensemble.ts";
import { checkFileNames } from "./validate-file-names.ts";
import { checkSequenceBatching } from "./validate-sequence-batching.ts";

/**
 * Checks a normalised configuration for contradictions within itself. Inputs and outputs may still be missing; they
 * are checked by `validateTensors` once they are complete.
 *
 * @throws InferenceError INVALID_ARG listing all faults, in Triton's words where it has any.
 */
export function validateConfig(message: ModelConfigMessage): void {
  const faults = new ConfigFaults();
  checkBackend(message, faults);
  faults.require(
    message.maxBatchSize >= 0,
    () => `'max_batch_size' must be non-negative value for ${message.name}`,
  );
  checkScheduling(message, faults);
  checkResponseCache(message, faults);
  checkRateLimiters(message, faults);
  checkWarmup(message, faults);
  checkMetrics(message, faults);
  checkFileNames(message, faults);
  faults.throwIfAny();
}

function checkBackend(message: ModelConfigMessage, faults: ConfigFaults): void {
  const { name, platform, backend } = message;
  const isEnsemble =
    platform === ENSEMBLE_PLATFORM || message.schedulingChoice.case === "ensembleScheduling";
  if (isEnsemble) {
    faults.require(
      platform === ENSEMBLE_PLATFORM && backend === "",
      () =>
        `Ensemble model '${name}' must have platform type '${ENSEMBLE_PLATFORM}' and empty backend type`,
    );
    return;
  }
  if (backend === "") {
    faults.add(
      platform === ""
        ? `must specify 'platform' or 'backend' for '${name}'`
        : `unexpected platform type '${platform}' for ${name}`,
    );
    return;
  }
  const platforms = platformsOf(backend);
  faults.require(
    platform === "" || platforms === undefined || platforms.includes(platform),
    () => `unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}`,
  );
}

function checkScheduling(message: ModelConfigMessage, faults: ConfigFaults): void {
  const { schedulingChoice } = message;
  switch (schedulingChoice.case) {
    case "dynamicBatching":
      checkDynamicBatching(message, schedulingChoice.value, faults);
      break;
    case "sequenceBatching":
      checkSequenceBatching(message, schedulingChoice.value, faults);
      break;
    case "ensembleScheduling":
      checkEnsemble(message, schedulingChoice.value, faults);
      break;
    case undefined:
      faults.require(
        message.platform !== ENSEMBLE_PLATFORM,
        () =>
          `ensemble scheduling must be set for ensemble ${message.name} whose platform is ${ENSEMBLE_PLATFORM}`,
      );
  }
}

function checkResponseCache(message: ModelConfigMessage, faults: ConfigFaults): void {
  if (message.responseCache?.enable !== true) return;
  const refused = (what: string) =>
    `Response caching does not support model ${message.name} with ${what}. Please disable the response cache.`;
  if (message.modelTransactionPolicy?.decoupled === true) {
    faults.add(refused("'decoupled' transaction policy"));
  }
  if (message.schedulingChoice.case === "sequenceBatching") {
    faults.add(refused("sequence batching scheduler"));
  }
}

function checkRateLimiters(message: ModelConfigMessage, faults: ConfigFaults): void {
  message.instanceGroup.forEach((group, index) => {
    for (const { name } of group.rateLimiter?.resources ?? []) {
      faults.require(
        name !== "",
        () =>
          `rate limiter resource of instance group ${index} must specify 'name' for ${message.name}`,
      );
    }
  });
}

function checkWarmup(message: ModelConfigMessage, faults: ConfigFaults): void {
  for (const sample of message.modelWarmup) {
    for (const [input, { dataType, dims, inputDataType }] of Object.entries(sample.inputs)) {
      const start = `warmup sample '${sample.name}', input '${input}'`;
      faults.require(dataType !== 0, () => `${start} must specify 'data_type' for ${message.name}`);
      faults.require(
        dims.every((dim) => dim >= 0n),
        () => `${start} must specify fixed dimensions for ${message.name}, got [${dims.join(",")}]`,
      );
      faults.require(
        inputDataType.case !== undefined,
        () =>
          `${start} must specify one of 'zero_data', 'random_data' or 'input_data_file' for ${message.name}`,
      );
    }
  }
}

function checkMetrics(message: ModelConfigMessage, faults: ConfigFaults): void {
  for (const control of message.modelMetrics?.metricControl ?? []) {
    const family = control.metricIdentifier?.family ?? "";
    if (family === "") {
      faults.add(`metric_control must specify 'metric_identifier.family' for ${message.name}`);
    }
    const { metricOptions } = control;
    const buckets = metricOptions.case === "histogramOptions" ? metricOptions.value.buckets : [];
    const start = `metric_control of family '${family}'`;
    faults.require(
      buckets.length > 0,
      () => `${start} must specify 'histogram_options.buckets' for ${message.name}`,
    );
    faults.require(
      buckets.every((bucket, index) => index === 0 || bucket > Number(buckets[index - 1])),
      () =>
        `${start} must have ascending 'histogram_options.buckets' for ${message.name}, got [${buckets.join(",")}]`,
    );
  }
}
