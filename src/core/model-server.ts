import type { Clock } from "../base/clock.ts";
import { InferenceError } from "../base/error.ts";
import { isEnsemble } from "./config/ensemble-steps.ts";
import type { ControlPlane, IndexEntry, LoadOverrides, LogSettings } from "./control-plane.ts";
import type { DataPlane, ServerMetadata } from "./data-plane.ts";
import { EnsembleLoader } from "./model/ensemble-loader.ts";
import { loadEnsemble, type ModelDirectory } from "./model/load-ensemble.ts";
import { type LoadModelContext, loadModel } from "./model/load-model.ts";
import type { Model } from "./model/model.ts";
import { ModelLifecycle } from "./model/model-lifecycle.ts";
import { ModelLoader } from "./model/model-loader.ts";
import { DUPLICATE_MODEL_REASON, ModelRepository } from "./repository/model-repository.ts";
import type { InferenceRequest } from "./request/inference-request.ts";

/** How models come and go (`--model-control-mode`). `poll` loads all at the start like `none`. */
export type ControlMode = "none" | "poll" | "explicit";

/** The log's side of the logging extension. */
export interface LogControl {
  readonly settings: LogSettings;
  /** @throws InferenceError where a value is not allowed; nothing is changed then. */
  update(change: Partial<LogSettings>): LogSettings;
}

/** What a {@link ModelServer} is made of. */
export interface ModelServerOptions extends LoadModelContext {
  readonly metadata: ServerMetadata;
  /** `--model-repository`, at least one. */
  readonly repositoryPaths: readonly string[];
  readonly controlMode: ControlMode;
  /** `--load-model`, for mode explicit; `*` alone = all. */
  readonly startupModels: readonly string[];
  readonly isReadinessStrict: boolean;
  readonly loadThreadCount: number;
  readonly loadRetryCount: number;
  /** `--model-config-name`; "" = config.pbtxt. */
  readonly configName: string;
  readonly log: LogControl;
  /** Told of each model version that is about to serve, before its first request. Must not throw. */
  readonly onModelReady?: (model: Model) => void;
}

/** A model that did not load at the start. */
export interface StartFailure {
  readonly modelName: string;
  readonly error: InferenceError;
}

const ALL_MODELS = "*";
const NS_PER_SECOND = 1_000_000_000;

/** The models of a server and everything a frontend may ask of them: both planes over one life cycle. */
export class ModelServer implements DataPlane, ControlPlane {
  readonly metadata: ServerMetadata;
  readonly #options: ModelServerOptions;
  readonly #repository: ModelRepository;
  readonly #lifecycle: ModelLifecycle;
  readonly #loader: EnsembleLoader;
  #phase: "starting" | "live" | "stopping" = "starting";

  constructor(options: ModelServerOptions) {
    const { logger } = options;
    this.metadata = options.metadata;
    this.#options = options;
    this.#repository = new ModelRepository(options.repositoryPaths);
    this.#lifecycle = new ModelLifecycle({
      logger,
      loadThreadCount: options.loadThreadCount,
      loadRetryCount: options.loadRetryCount,
      isOnDisk: (name) => this.#repository.find(name).length > 0,
      onReady: options.onModelReady,
    });
    const models: ModelDirectory = {
      find: (name, versionText) => this.#lifecycle.ready.find(name, versionText),
      isAvailable: (name) =>
        this.#lifecycle.isKnown(name) || this.#repository.find(name).length === 1,
      versionStates: (name) => this.#lifecycle.versionStates(name),
    };
    const loader = new ModelLoader({
      configName: options.configName,
      isAutoCompleteOn: options.isAutoCompleteOn,
      logger,
      repository: this.#repository,
      lifecycle: this.#lifecycle,
      openVersion: (source, version) =>
        isEnsemble(source.config.message)
          ? loadEnsemble(source, version, { clock: options.clock, logger, models })
          : loadModel(source, version, options),
    });
    this.#loader = new EnsembleLoader({ loader, lifecycle: this.#lifecycle, logger });
  }

  /**
   * Loads the models of the start: all, or in mode explicit those asked for. The server is live afterwards, whatever
   * became of them.
   *
   * @returns the models that did not load, by name; for `--exit-on-error`.
   * @throws InferenceError INVALID_ARG when a repository is no directory, or `*` is not the only start-up model.
   */
  async start(): Promise<readonly StartFailure[]> {
    this.#repository.checkPaths();
    const failures = await this.#loader.loadAll(this.#startupNames());
    if (this.#phase === "starting") this.#phase = "live";
    return [...failures]
      .map(([modelName, error]) => ({ modelName, error }))
      .sort((a, b) => (a.modelName < b.modelName ? -1 : 1));
  }

  /**
   * Refuses new requests, answers those under way, unloads everything.
   *
   * @param timeoutNs how long that may take; what is left then goes down with the process.
   * @returns versions that were not freed in time; 0 = a clean end.
   */
  async stop(timeoutNs: number): Promise<number> {
    this.#phase = "stopping";
    const { clock, logger } = this.#options;
    const end = this.#lifecycle.stop().then(() => "freed" as const);
    const deadlineNs = clock.nowNs() + timeoutNs;
    for (;;) {
      const leftNs = deadlineNs - clock.nowNs();
      const left = `Timeout ${Math.max(0, Math.ceil(leftNs / NS_PER_SECOND))}`;
      const liveCount = this.#lifecycle.liveCount;
      logger.info(`${left}: Found ${liveCount} live models and 0 in-flight non-inference requests`);
      if (leftNs <= 0) return liveCount;
      const tick = afterOrWhen(clock, Math.min(leftNs, NS_PER_SECOND), end);
      if ((await tick) === "freed") return 0;
    }
  }

  get isLive(): boolean {
    return this.#phase === "live";
  }

  get isReady(): boolean {
    return this.isLive && (!this.#options.isReadinessStrict || this.#lifecycle.areAllReady);
  }

  get inflightCount(): number {
    return this.#lifecycle.inflightCount;
  }

  model(name: string, versionText: string): Model {
    return this.#lifecycle.ready.find(name, versionText) ?? this.#findSlowly(name, versionText);
  }

  isModelReady(name: string, versionText: string): boolean | Promise<boolean> {
    const serving = this.#lifecycle.ready.find(name, versionText);
    if (serving === undefined && this.#isIdle(name, versionText)) return false;
    const model = serving ?? this.#findSlowly(name, versionText);
    return model.isHealthy && (model.checkReady?.() ?? true);
  }

  readyVersions(name: string): readonly string[] {
    this.model(name, "");
    return this.#lifecycle.ready.versionsOf(name).map((model) => model.versionText);
  }

  statisticsModels(name: string, versionText: string): readonly Model[] {
    const { ready } = this.#lifecycle;
    if (name === "") return ready.all();
    const version = versionText === "" ? undefined : versionFrom(versionText);
    const models = ready.versionsOf(name);
    if (models.length === 0) {
      throw new InferenceError("INVALID_ARG", `requested model '${name}' is not available`);
    }
    if (version === undefined) return models;
    const model = ready.find(name, String(version));
    if (model !== undefined) return [model];
    throw new InferenceError(
      "INVALID_ARG",
      `requested model version is not available for model '${name}'`,
    );
  }

  infer(model: Model, request: InferenceRequest): void {
    // Asked first, because making the fields costs more than the rest of this method.
    if (this.#options.log.settings.logVerboseLevel > 0) this.#logRequest(model, request);
    model.submit(request);
  }

  index(onlyReady: boolean): readonly IndexEntry[] {
    const entries = this.#repository
      .list()
      .flatMap(({ name, directories }) =>
        directories.length > 1
          ? [{ name, state: "UNAVAILABLE" as const, reason: DUPLICATE_MODEL_REASON }]
          : this.#indexEntries(name),
      );
    return onlyReady ? entries.filter(({ state }) => state === "READY") : entries;
  }

  async loadModel(name: string, overrides: LoadOverrides): Promise<void> {
    this.#checkControl();
    await this.#loader.load(name, overrides);
  }

  async unloadModel(name: string, unloadDependents: boolean): Promise<void> {
    this.#checkControl();
    await this.#loader.unload(name, unloadDependents);
  }

  logSettings(): LogSettings {
    return this.#options.log.settings;
  }

  updateLogSettings(change: Partial<LogSettings>): LogSettings {
    return this.#options.log.update(change);
  }

  #logRequest(model: Model, { id, signature, inputBytes }: InferenceRequest): void {
    this.#options.logger.verbose(1, "inference request", {
      model: model.name,
      version: model.versionText,
      requestId: id === "" ? undefined : id,
      inputs: signature.inputs
        .map(({ name, datatype, shape }) => `${name} ${datatype}[${shape}]`)
        .join(", "),
      bytes: inputBytes.reduce((sum, { length }) => sum + length, 0),
    });
  }

  #startupNames(): readonly string[] {
    const { controlMode, startupModels } = this.#options;
    const isEverything = startupModels.includes(ALL_MODELS);
    if (isEverything && startupModels.length > 1) {
      throw new InferenceError(
        "INVALID_ARG",
        "Wildcard model name '*' must be the ONLY startup model if specified at all.",
      );
    }
    if (controlMode === "explicit" && !isEverything) return [...new Set(startupModels)];
    return this.#repository.list().map(({ name }) => name);
  }

  /** Whether a version, or any where none is named, is known and does not serve. */
  #isIdle(name: string, versionText: string): boolean {
    const states = this.#lifecycle.versionStates(name);
    if (versionText === "") return this.#lifecycle.isKnown(name);
    const version = versionFrom(versionText);
    return states.some((state) => state.version === version && state.state !== "READY");
  }

  /** Whatever the map of ready models does not answer: other spellings of a version, and all errors. */
  #findSlowly(name: string, versionText: string): Model {
    const version = versionText === "" ? undefined : versionFrom(versionText);
    if (this.#phase === "stopping") {
      throw new InferenceError(
        "UNAVAILABLE",
        "Server is stopping, scheduler for model has stopped accepting new inference requests",
      );
    }
    const unknown = `Request for unknown model: '${name}'`;
    if (!this.#lifecycle.isKnown(name)) {
      throw new InferenceError("NOT_FOUND", `${unknown} is not found`);
    }
    if (version === undefined) {
      throw new InferenceError("NOT_FOUND", `${unknown} has no available versions`);
    }
    const model = this.#lifecycle.ready.find(name, String(version));
    if (model !== undefined) return model;
    const states = this.#lifecycle.versionStates(name);
    if (states.some((state) => state.version === version)) {
      throw new InferenceError(
        "UNAVAILABLE",
        `${unknown} version ${version} is not at ready state`,
      );
    }
    throw new InferenceError("NOT_FOUND", `${unknown} version ${version} is not found`);
  }

  #indexEntries(name: string): readonly IndexEntry[] {
    const states = this.#lifecycle.versionStates(name);
    const reason = this.#lifecycle.reasonWithoutVersions(name);
    if (states.length === 0) {
      return [reason === "" ? { name } : { name, state: "UNAVAILABLE", reason }];
    }
    return states.map((state) => ({
      name,
      version: String(state.version),
      state: state.state,
      ...(state.reason !== "" && { reason: state.reason }),
    }));
  }

  #checkControl(): void {
    if (this.#phase === "stopping") throw new InferenceError("UNAVAILABLE", "Server exiting");
    if (this.#options.controlMode === "explicit") return;
    // Triton says the same in mode none, where nothing is polled either.
    throw new InferenceError(
      "UNAVAILABLE",
      "explicit model load / unload is not allowed if polling is enabled",
    );
  }
}

/** @throws InferenceError INVALID_ARG for what is no version number. */
function versionFrom(text: string): number {
  const version = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(version)) return version;
  throw new InferenceError(
    "INVALID_ARG",
    `failed to get model version from specified version string '${text}' (details: stol), ` +
      "version should be an integral value > 0",
  );
}

/** The earlier of a time on the clock and a promise; no timer stays behind. */
async function afterOrWhen<T>(
  clock: Clock,
  delayNs: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  const timer = Promise.withResolvers<undefined>();
  const cancel = clock.after(delayNs, () => timer.resolve(undefined));
  try {
    return await Promise.race([promise, timer.promise]);
  } finally {
    cancel();
  }
}
