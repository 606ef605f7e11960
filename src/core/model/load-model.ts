import type { Clock } from "../../base/clock.ts";
import { InferenceError } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import type { OpenModelOptions } from "../backend/backend.ts";
import { executionSignatureFrom } from "../backend/execution-signature.ts";
import { adoptCompletedConfig } from "../config/adopt-completed-config.ts";
import { completeConfig, defaultMaxBatchSizeFrom } from "../config/complete-config.ts";
import { configFromBytes, configToBytes } from "../config/config-bytes.ts";
import { normalizeInstanceGroups } from "../config/instance-groups.ts";
import { instancePlansFrom } from "../config/instance-plan.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { modelConfigFromMessage } from "../config/model-config-from.ts";
import { validateTensors } from "../config/validate-tensors.ts";
import type { InstanceHome, InstanceHosts, OpenedModel } from "../instance/instance-hosts.ts";
import { chooseScheduler } from "../scheduler/choose-scheduler.ts";
import type { SchedulerOptions } from "../scheduler/scheduler-options.ts";
import { ModelCounters } from "../statistics/model-counters.ts";
import { classify } from "./classification.ts";
import { LoadedModel } from "./loaded-model.ts";
import type { ModelSource } from "./model-source.ts";
import { harmlessWarning, refuseUnserved } from "./refuse-unserved.ts";
import { warmUp } from "./warm-up.ts";
import { readWarmUpSamples } from "./warm-up-samples.ts";

/** What every load of a server needs. */
export interface LoadModelContext {
  readonly hosts: InstanceHosts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** False under `--disable-auto-complete-config`. */
  readonly isAutoCompleteOn: boolean;
  /** `--backend-config` settings by backend name; those of all backends under "". */
  readonly backendConfig: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Libraries to use before any that is found, by backend name. */
  readonly libraryPaths: Readonly<Record<string, string>>;
  /** GPUs of this machine that instances may run on. */
  readonly gpuCount: number;
}

/**
 * Loads one version of a model: opens it in a first host, completes the configuration from what the file says,
 * starts the instances and puts a scheduler before them. What was made is freed in reverse order when a step fails.
 *
 * @param version one of `source.versions`.
 * @throws InferenceError with the first fault: of the configuration, the backend, or this server's own limits.
 */
export async function loadModel(
  source: ModelSource,
  version: number,
  context: LoadModelContext,
): Promise<LoadedModel> {
  const beginNs = context.clock.nowNs();
  // Versions of one model load side by side and completion changes the message.
  const message = configFromBytes(configToBytes(source.config.message));
  refuseUnserved(message);
  normalizeInstanceGroups(message, { gpuCount: context.gpuCount });
  const backendConfig = {
    ...context.backendConfig.get(""),
    ...context.backendConfig.get(message.backend),
  };
  await using resources = new AsyncDisposableStack();
  source.holdFiles(resources);
  const opened = await context.hosts.open(
    message.backend,
    openOptions(source, version, message, backendConfig, context),
    homeOf(message),
  );
  resources.defer(() => opened.dispose());
  const { completedConfigJson } = opened.report;
  if (completedConfigJson !== undefined) {
    adoptCompletedConfig(message, completedConfigJson);
  } else if (context.isAutoCompleteOn && message.backend !== "python") {
    completeConfig(message, opened.report, {
      givenFields: source.config.givenFields,
      defaultMaxBatchSize: defaultMaxBatchSizeFrom(backendConfig),
    });
  }
  validateTensors(message, { scalarTensors: scalarTensorsOf(opened) });
  // Completion may have filled in what is not served either.
  refuseUnserved(message);
  const warning = harmlessWarning(message);
  if (warning !== undefined) context.logger.warning(warning, { version });
  const config = await modelConfigFromMessage(message, source.modelDirectory);
  const executionSignature = executionSignatureFrom(config);
  const pool = await opened.createPool(config, executionSignature);
  resources.defer(() => pool.dispose());
  const statistics = new ModelCounters();
  const schedulerOptions: SchedulerOptions = {
    config,
    signature: executionSignature,
    versionText: String(version),
    pool,
    clock: context.clock,
    statistics,
    logger: context.logger,
    classify: (output, classCount, { labels }, hasBatchDimension) =>
      classify(output, { classCount, labels, hasBatchDimension }),
  };
  const samples = await readWarmUpSamples(config, executionSignature, source.modelDirectory);
  await warmUp(samples, schedulerOptions);
  const scheduler = chooseScheduler(schedulerOptions);
  resources.defer(() => scheduler.stop());
  return new LoadedModel({
    version,
    config,
    executionSignature,
    scheduler,
    statistics,
    loadDurationNs: context.clock.nowNs() - beginNs,
    health: pool,
    resources: resources.move(),
  });
}

function openOptions(
  source: ModelSource,
  version: number,
  message: ModelConfig["message"],
  backendConfig: Readonly<Record<string, string>>,
  context: LoadModelContext,
): OpenModelOptions {
  const [firstInstance] = instancePlansFrom(message);
  return {
    modelName: source.modelName,
    modelVersion: String(version),
    modelDirectory: source.modelDirectory,
    versionDirectory: source.versionDirectory(version),
    config: configToBytes(message),
    device: firstInstance?.device ?? { kind: "CPU", id: -1 },
    backendConfig,
    libraryPaths: context.libraryPaths,
  };
}

/** The config parameter `isolation`, our own: where the instances live. */
function homeOf(message: ModelConfig["message"]): InstanceHome {
  const home = message.parameters["isolation"]?.stringValue ?? "thread";
  if (home === "thread" || home === "process") return home;
  throw new InferenceError(
    "INVALID_ARG",
    `parameter 'isolation' of model '${message.name}' must be 'thread' or 'process', got '${home}'`,
  );
}

/** Names of the tensors that the model file has without any dimension. */
function scalarTensorsOf(opened: OpenedModel): ReadonlySet<string> {
  const tensors = [...opened.report.inputs, ...opened.report.outputs];
  return new Set(tensors.filter(({ shape }) => shape?.length === 0).map(({ name }) => name));
}
