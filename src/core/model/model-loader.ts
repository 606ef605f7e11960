import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import { ensembleSteps } from "../config/ensemble-steps.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { readModelConfig } from "../config/read-config.ts";
import type { ModelFingerprint } from "../repository/model-fingerprint.ts";
import { checkModelName } from "../repository/model-name.ts";
import { DUPLICATE_MODEL_REASON, type ModelRepository } from "../repository/model-repository.ts";
import { OverrideDirectory } from "../repository/override-directory.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { LoadedModel } from "./loaded-model.ts";
import type { Model } from "./model.ts";
import type { LoadPlan, ModelLifecycle } from "./model-lifecycle.ts";
import {
  fingerprintOfModel,
  type ModelSource,
  type ReadSourceOptions,
  readModelSource,
  type SourcePlace,
} from "./model-source.ts";
import { UNLOADED_REASON } from "./model-states.ts";

/** What a load request brings along in place of what is on disk. */
export interface ModelOverrides {
  /** JSON ModelConfig in place of config.pbtxt. */
  readonly configJson?: string | undefined;
  /** Contents by path relative to the model directory; they are then the whole directory. */
  readonly files?: ReadonlyMap<string, Uint8Array> | undefined;
}

/** What a {@link ModelLoader} is made of. */
export interface ModelLoaderOptions extends ReadSourceOptions {
  readonly repository: ModelRepository;
  readonly lifecycle: ModelLifecycle;
  /** Opens one version of what was read. */
  readonly openVersion: (source: ModelSource, version: number) => Promise<Model>;
}

/**
 * Turns "load this model" into the least that has to be done: reads the directory, compares it with what the running
 * versions were loaded from, and has the life cycle load the difference. Calls for one model run one after the other.
 */
export class ModelLoader {
  readonly #options: ModelLoaderOptions;
  readonly #lock = new KeyedLock();
  /** What the versions that serve were loaded from. */
  readonly #sources = new Map<string, ModelSource>();

  constructor(options: ModelLoaderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the versions that the policy selects are READY. Nothing happens where they are already and nothing
   * has changed. Whatever fails, what serves goes on serving.
   *
   * @throws InferenceError INVALID_ARG for a bad name, bad overrides or a version that does not load; INTERNAL
   *   `failed to load '<m>', failed to poll from model repository` when the directory is not there or not readable.
   */
  load(modelName: string, overrides: ModelOverrides = {}): Promise<void> {
    return this.#lock.run(modelName, async () => {
      checkModelName(modelName);
      const source = await this.#read(modelName, overrides);
      try {
        const plan = this.#plan(source);
        if (!this.#isFulfilled(plan)) await this.#options.lifecycle.load(plan);
        this.#sources.set(modelName, source);
        this.#showVersionPolicy(source, plan.keptVersions);
      } finally {
        await source.place.override?.release();
      }
    });
  }

  /**
   * Names of the models that an ensemble needs, as its configuration says now; none for other models and for what
   * cannot be read, where a load tells what is wrong.
   */
  async stepNames(modelName: string, overrides: ModelOverrides): Promise<readonly string[]> {
    try {
      checkModelName(modelName);
      const hasOwnFiles = overrides.configJson !== undefined && hasFiles(overrides);
      const directory = hasOwnFiles ? "" : this.#directoryOf(modelName);
      const { message } = await readModelConfig(directory, {
        configName: this.#options.configName,
        overrideJson: overrides.configJson ?? (await this.#keptConfigJson(modelName, directory)),
        isAutoCompleteOn: true,
      });
      return [...new Set(ensembleSteps(message).map((step) => step.modelName))];
    } catch (thrown) {
      if (thrown instanceof InferenceError) return [];
      throw thrown;
    }
  }

  /** Runs a task when no load or unload of the model is under way, and keeps others waiting meanwhile. */
  runAlone(modelName: string, task: () => Promise<void>): Promise<void> {
    return this.#lock.run(modelName, task);
  }

  /** Resolves once the model is out of service. Unknown models are no error. */
  unload(modelName: string): Promise<void> {
    return this.#lock.run(modelName, async () => {
      this.#options.lifecycle.unload(modelName);
      this.#sources.delete(modelName);
    });
  }

  /** Reads the model; what goes wrong here is what Triton calls a failed poll, and is logged. */
  async #read(modelName: string, overrides: ModelOverrides): Promise<ModelSource> {
    let override: OverrideDirectory | undefined;
    try {
      override = await createOverride(modelName, overrides);
      const modelDirectory = override?.modelDirectory ?? this.#directoryOf(modelName);
      const fingerprint = await fingerprintOfModel(modelDirectory);
      const configJson =
        overrides.configJson ??
        (await this.#keptConfigJson(modelName, modelDirectory, fingerprint));
      const place: SourcePlace = { modelName, modelDirectory, fingerprint, configJson, override };
      return await readModelSource(place, this.#options);
    } catch (thrown) {
      await override?.release();
      throw this.#pollError(modelName, overrides, inferenceErrorFrom(thrown));
    }
  }

  #pollError(modelName: string, overrides: ModelOverrides, cause: InferenceError): InferenceError {
    const text = `failed to load '${modelName}', failed to poll from model repository`;
    this.#options.logger.error(`${text}: ${cause.message}`);
    // What the caller sent is the caller's fault; what lies on the server's disk is not.
    const isCallersFault = overrides.configJson !== undefined || hasFiles(overrides);
    // Triton's bare text, and no word on the server's paths, for a model that is not there.
    const message = cause.code === "NOT_FOUND" ? text : `${text}: ${cause.message}`;
    return new InferenceError(isCallersFault ? "INVALID_ARG" : "INTERNAL", message, { cause });
  }

  /** @throws InferenceError NOT_FOUND or INVALID_ARG where not exactly one repository has the model. */
  #directoryOf(modelName: string): string {
    const directories = this.#options.repository.find(modelName);
    const [directory] = directories;
    if (directory === undefined) {
      const paths = this.#options.repository.paths.join(", ");
      throw new InferenceError("NOT_FOUND", `no directory of this name in ${paths}`);
    }
    if (directories.length > 1) {
      throw new InferenceError(
        "INVALID_ARG",
        `${DUPLICATE_MODEL_REASON}: ${directories.join(", ")}`,
      );
    }
    return directory;
  }

  /** A configuration given with an earlier load stays in force until something on disk is newer. */
  async #keptConfigJson(
    modelName: string,
    modelDirectory: string,
    fingerprint?: ModelFingerprint,
  ): Promise<string | undefined> {
    const earlier = this.#sources.get(modelName)?.place;
    if (earlier?.configJson === undefined || earlier.override !== undefined) return undefined;
    const now = fingerprint ?? (await fingerprintOfModel(modelDirectory));
    return isSameFingerprint(earlier.fingerprint, now) ? earlier.configJson : undefined;
  }

  #plan(source: ModelSource): LoadPlan {
    const { lifecycle, openVersion } = this.#options;
    const earlier = this.#sources.get(source.modelName);
    const kept = source.versions.filter((version) => {
      const model = lifecycle.ready.find(source.modelName, String(version));
      if (earlier === undefined || model === undefined || model.isStale === true) return false;
      return source.isSameVersionAs(earlier, version);
    });
    return {
      modelName: source.modelName,
      versions: source.versions,
      keptVersions: new Set(kept),
      versionsOnDisk: source.versionsOnDisk,
      open: (version) => openVersion(source, version),
    };
  }

  /** Whether the model is already in the state that a plan wants. */
  #isFulfilled({ modelName, versions, keptVersions }: LoadPlan): boolean {
    if (versions.length === 0 || keptVersions.size < versions.length) return false;
    return this.#options.lifecycle
      .versionStates(modelName)
      .every(
        ({ version, state, reason }) =>
          keptVersions.has(version) || state === "UNLOADING" || reason === UNLOADED_REASON,
      );
  }

  /** Versions that stayed although the version policy is another show the new one. */
  #showVersionPolicy(source: ModelSource, keptVersions: ReadonlySet<number>): void {
    const { versionPolicy } = source.config.message;
    for (const model of this.#options.lifecycle.ready.versionsOf(source.modelName)) {
      if (!keptVersions.has(model.version) || !(model instanceof LoadedModel)) continue;
      if (versionPolicy !== undefined)
        model.showConfig(withVersionPolicy(model.config, versionPolicy));
    }
  }
}

function hasFiles({ files }: ModelOverrides): boolean {
  return files !== undefined && files.size > 0;
}

/** @throws InferenceError INVALID_ARG for files without a configuration, or with bad paths. */
async function createOverride(
  modelName: string,
  { configJson, files }: ModelOverrides,
): Promise<OverrideDirectory | undefined> {
  if (files === undefined || files.size === 0) return undefined;
  if (configJson === undefined) {
    throw new InferenceError(
      "INVALID_ARG",
      "Load parameter 'config' must be specified for model file override",
    );
  }
  return await OverrideDirectory.create(modelName, files);
}

function isSameFingerprint(a: ModelFingerprint, b: ModelFingerprint): boolean {
  if (a.config !== b.config || a.other !== b.other) return false;
  if (a.versions.size !== b.versions.size) return false;
  for (const [version, text] of a.versions) if (b.versions.get(version) !== text) return false;
  return true;
}

function withVersionPolicy(
  config: ModelConfig,
  versionPolicy: NonNullable<ModelConfig["message"]["versionPolicy"]>,
): ModelConfig {
  return { ...config, message: { ...config.message, versionPolicy } };
}
