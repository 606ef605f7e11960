import type { Clock } from "../../base/clock.ts";
import { InferenceError } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import { executionSignatureFrom } from "../backend/execution-signature.ts";
import { configFromBytes, configToBytes } from "../config/config-bytes.ts";
import {
  type ConfiguredStep,
  ensembleSteps,
  makeDecoupled,
  maxInflightRequestsOf,
} from "../config/ensemble-steps.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { modelConfigFromMessage } from "../config/model-config-from.ts";
import { validateTensors } from "../config/validate-tensors.ts";
import { ensemblePlan, hasDecoupledStep } from "../scheduler/ensemble-plan.ts";
import { EnsembleScheduler } from "../scheduler/ensemble-scheduler.ts";
import { ModelCounters } from "../statistics/model-counters.ts";
import { checkEnsembleSteps } from "./check-ensemble-steps.ts";
import { classify } from "./classification.ts";
import { LoadedModel, type ModelHealth } from "./loaded-model.ts";
import type { Model } from "./model.ts";
import type { ModelSource } from "./model-source.ts";
import type { VersionState } from "./model-states.ts";
import { harmlessWarning, refuseUnserved } from "./refuse-unserved.ts";

/** What the loading of an ensemble asks about other models. */
export interface ModelDirectory {
  /** A READY version. @param versionText "" = the highest. */
  find(modelName: string, versionText: string): Model | undefined;
  /** Whether exactly one model of this name could be loaded. */
  isAvailable(modelName: string): boolean;
  versionStates(modelName: string): readonly VersionState[];
}

/** What every load of an ensemble needs. */
export interface LoadEnsembleContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly models: ModelDirectory;
}

/**
 * Loads one version of an ensemble: binds it to the versions of its steps' models that serve now, which are kept from
 * being freed for as long as the ensemble lives. When one of them is replaced, the ensemble is stale.
 *
 * @throws InferenceError INVALID_ARG where a step's model does not serve or does not fit, naming it.
 */
export async function loadEnsemble(
  source: ModelSource,
  version: number,
  context: LoadEnsembleContext,
): Promise<LoadedModel> {
  const { clock, logger } = context;
  const beginNs = clock.nowNs();
  const message = configFromBytes(configToBytes(source.config.message));
  validateTensors(message);
  refuseUnserved(message);
  const warning = harmlessWarning(message);
  if (warning !== undefined) logger.warning(warning, { version });
  const steps = ensembleSteps(message);
  await using resources = new AsyncDisposableStack();
  source.holdFiles(resources);
  const models = modelsOf(message.name, steps, context.models);
  for (const model of models) {
    const release = model.hold?.();
    if (release !== undefined) resources.defer(release);
  }
  if (hasDecoupledStep(models)) makeDecoupled(message);
  const config = withInheritedLabels(
    await modelConfigFromMessage(message, source.modelDirectory),
    steps,
    models,
  );
  checkEnsembleSteps(
    config,
    models.map((model) => model.config),
  );
  const statistics = new ModelCounters();
  const scheduler = new EnsembleScheduler({
    config,
    versionText: String(version),
    clock,
    statistics,
    classify: (output, classCount, { labels }, hasBatchDimension) =>
      classify(output, { classCount, labels, hasBatchDimension }),
    plan: ensemblePlan(config, models),
    maxInflightRequests: maxInflightRequestsOf(message),
    finishSequences: finishSequencesOf(models),
  });
  resources.defer(() => scheduler.stop());
  return new LoadedModel({
    version,
    config,
    executionSignature: executionSignatureFrom(config),
    scheduler,
    statistics,
    loadDurationNs: clock.nowNs() - beginNs,
    health: new EnsembleHealth(steps, models, context.models),
    resources: resources.move(),
  });
}

function finishSequencesOf(models: readonly Model[]): (() => Promise<void>) | undefined {
  const schedulers = models.map(({ scheduler }) => scheduler);
  if (schedulers.every(({ finishSequences }) => finishSequences === undefined)) return undefined;
  return async () => {
    await Promise.all(schedulers.map((scheduler) => scheduler.finishSequences?.()));
  };
}

/** An ensemble can serve while all of its steps can. */
class EnsembleHealth implements ModelHealth {
  readonly #steps: readonly ConfiguredStep[];
  readonly #models: readonly Model[];
  readonly #directory: ModelDirectory;

  constructor(
    steps: readonly ConfiguredStep[],
    models: readonly Model[],
    directory: ModelDirectory,
  ) {
    this.#steps = steps;
    this.#models = models;
    this.#directory = directory;
  }

  get isHealthy(): boolean {
    return this.#models.every((model) => model.isHealthy);
  }

  get isStale(): boolean {
    return this.#steps.some(
      ({ modelName, versionText }, i) =>
        this.#directory.find(modelName, versionText) !== this.#models[i],
    );
  }

  async checkReady(): Promise<boolean> {
    const answers = await Promise.all(this.#models.map((model) => model.checkReady?.() ?? true));
    return answers.every((isReady) => isReady);
  }
}

/** @throws InferenceError INVALID_ARG with Triton's texts. */
function modelsOf(
  ensembleName: string,
  steps: readonly ConfiguredStep[],
  directory: ModelDirectory,
): readonly Model[] {
  const found = steps.map((step) => directory.find(step.modelName, step.versionText));
  const missing = steps.filter(
    ({ modelName }, i) => found[i] === undefined && !directory.isAvailable(modelName),
  );
  if (missing.length > 0) {
    const names = [...new Set(missing.map(({ modelName }) => modelName))].join(", ");
    throw new InferenceError(
      "INVALID_ARG",
      `ensemble ${ensembleName} contains models that are not available or ambiguous: ${names}`,
    );
  }
  return steps.map((step, i) => {
    const model = found[i];
    if (model !== undefined) return model;
    throw new InferenceError("INVALID_ARG", dependencyFault(ensembleName, step, directory));
  });
}

function dependencyFault(
  ensembleName: string,
  { modelName, versionText }: ConfiguredStep,
  directory: ModelDirectory,
): string {
  const start = `ensemble '${ensembleName}' depends on '${modelName}'`;
  if (directory.find(modelName, "") !== undefined) {
    return `${start} whose required version ${versionText} is not loaded`;
  }
  const states = directory.versionStates(modelName).filter(({ reason }) => reason !== "");
  const reasons = states.map(
    ({ version, state, reason }) => ` version ${version} is at ${state} state: ${reason};`,
  );
  const why =
    reasons.length === 0
      ? ""
      : ` Model '${modelName}' loading failed with error:${reasons.join("")}`;
  return `${start} which has no loaded version.${why}`;
}

/** Outputs without labels have those of the step's output that they come from. */
function withInheritedLabels(
  config: ModelConfig,
  steps: readonly ConfiguredStep[],
  models: readonly Model[],
): ModelConfig {
  const labelsOf = (tensor: string): readonly string[] | undefined => {
    for (const [i, { outputMap }] of steps.entries()) {
      const output = Object.keys(outputMap).find((name) => outputMap[name] === tensor);
      if (output === undefined) continue;
      return models[i]?.config.outputs.find(({ name }) => name === output)?.labels;
    }
    return undefined;
  };
  const outputs = config.outputs.map((spec) => {
    const labels = spec.labels ?? labelsOf(spec.name);
    return labels === undefined ? spec : { ...spec, labels };
  });
  return Object.freeze({ ...config, outputs });
}
