import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import { LoadSlots } from "./load-slots.ts";
import type { Model } from "./model.ts";
import {
  ModelRecord,
  UNLOADED_REASON,
  type VersionRecord,
  type VersionState,
} from "./model-states.ts";
import { ReadyModels } from "./ready-models.ts";

/** One load of one model: which versions shall serve afterwards, and how to get those that do not yet. */
export interface LoadPlan {
  readonly modelName: string;
  /** Versions that shall be READY afterwards, ascending. Empty = the load fails. */
  readonly versions: readonly number[];
  /** Those of `versions` that are READY already and may stay as they are. */
  readonly keptVersions: ReadonlySet<number>;
  /** All versions that the model has on disk. */
  readonly versionsOnDisk: ReadonlySet<number>;
  /** Opens one version. Called once for each version that is not kept, and again for retries. */
  open(version: number): Promise<Model>;
}

/** What a {@link ModelLifecycle} is made of. */
export interface ModelLifecycleOptions {
  readonly logger: Logger;
  /** Versions that load at once, over all models; at least 1. */
  readonly loadThreadCount: number;
  /** Further attempts after a failed one. */
  readonly loadRetryCount: number;
  /** Whether a repository still has a model; records of others are dropped once they are unloaded. */
  readonly isOnDisk: (modelName: string) => boolean;
  /** Told of each model that is about to serve, before its first request. */
  readonly onReady?: ((model: Model) => void) | undefined;
}

/** How the opening of one version ended. */
type Outcome =
  | { readonly version: number; readonly model: Model; readonly error?: undefined }
  | { readonly version: number; readonly model?: undefined; readonly error: InferenceError };

/**
 * The state machine of all models. A version goes LOADING → READY or UNAVAILABLE (with the reason), and READY →
 * UNLOADING → UNAVAILABLE (`unloaded`). A load of a model that serves happens behind its back: it stays READY, and
 * either all new versions take over at once or, when one of them fails, nothing changes for those that serve.
 *
 * Calls of `load` and `unload` for the same model must not overlap; its owner serialises them. Main thread only.
 */
export class ModelLifecycle {
  /** What serves now. */
  readonly ready = new ReadyModels();
  readonly #options: ModelLifecycleOptions;
  readonly #slots: LoadSlots;
  readonly #records = new Map<string, ModelRecord>();
  /** Models that drain: out of service, not freed yet. */
  readonly #retiring = new Map<Model, Promise<void>>();
  readonly #loads = new Set<Promise<void>>();
  #isStopping = false;

  constructor(options: ModelLifecycleOptions) {
    this.#options = options;
    this.#slots = new LoadSlots(options.loadThreadCount);
  }

  /**
   * Carries out a load; resolves once the planned versions serve and the others have left service.
   *
   * @throws InferenceError INVALID_ARG `load failed for model '<m>': version <v> is at UNAVAILABLE state: <reason>;`
   *   naming each failed version. What served before serves on.
   */
  async load(plan: LoadPlan): Promise<void> {
    const load = this.#load(plan);
    const settled = load.catch(() => undefined);
    this.#loads.add(settled);
    try {
      await load;
    } finally {
      this.#loads.delete(settled);
    }
  }

  /** Takes all versions of a model out of service at once; they are freed when their last request has ended. */
  unload(modelName: string): void {
    const record = this.#records.get(modelName);
    if (record === undefined) return;
    this.ready.set(modelName, []);
    record.reasonWithoutVersions = "";
    for (const version of record.versions()) {
      if (version.model !== undefined) this.#leave(record, version);
      else if (version.state === "UNAVAILABLE") version.reason = UNLOADED_REASON;
    }
    this.#forgetIfNowhere(record);
  }

  /** Whether a load of the model was ever tried (and it was not forgotten since). */
  isKnown(modelName: string): boolean {
    return this.#records.has(modelName);
  }

  /** Versions of a model with their states, ascending; empty for unknown models. */
  versionStates(modelName: string): readonly VersionState[] {
    return this.#records.get(modelName)?.versions() ?? [];
  }

  /** Why the newest load of a model found no version; "" where it found some or was never tried. */
  reasonWithoutVersions(modelName: string): string {
    return this.#records.get(modelName)?.reasonWithoutVersions ?? "";
  }

  /** Triton's strict readiness: every version of every known model serves, or was unloaded on purpose. */
  get areAllReady(): boolean {
    for (const record of this.#records.values()) {
      const versions = record.versions();
      if (versions.length === 0) return false;
      for (const { model, reason } of versions) {
        if (model === undefined ? reason !== UNLOADED_REASON : !model.isHealthy) return false;
      }
    }
    return true;
  }

  /** Requests accepted and not ended, draining models included. */
  get inflightCount(): number {
    let count = 0;
    for (const record of this.#records.values()) {
      for (const model of record.readyModels()) count += model.scheduler.inflightCount;
    }
    for (const model of this.#retiring.keys()) count += model.scheduler.inflightCount;
    return count;
  }

  /** Versions that serve or drain, and loads under way: what is not freed yet. */
  get liveCount(): number {
    let count = this.#retiring.size + this.#loads.size;
    for (const record of this.#records.values()) count += record.readyModels().length;
    return count;
  }

  /**
   * Unloads everything, loads under way included; models with sequences only when those are over. Resolves when all
   * is freed. Idempotent.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const finishing = [...this.#records.values()].map((record) => this.#unloadAtEnd(record));
    await Promise.all([...finishing, ...this.#loads]);
    await Promise.all(this.#retiring.values());
  }

  /** @returns a promise where sequences have to come to their end first. */
  #unloadAtEnd(record: ModelRecord): Promise<void> | undefined {
    const ends = record.readyModels().map(({ scheduler }) => scheduler.finishSequences?.());
    if (ends.some((end) => end !== undefined)) {
      return Promise.all(ends).then(() => {
        this.unload(record.name);
      });
    }
    this.unload(record.name);
    return undefined;
  }

  async #load(plan: LoadPlan): Promise<void> {
    if (this.#isStopping) throw new InferenceError("UNAVAILABLE", "Server is stopping");
    const record = this.#records.get(plan.modelName) ?? new ModelRecord(plan.modelName);
    this.#records.set(plan.modelName, record);
    record.reasonWithoutVersions = "";
    if (plan.versions.length === 0) this.#failWithoutVersions(record);
    const opening = plan.versions.filter((version) => !plan.keptVersions.has(version));
    for (const version of opening) {
      const versionRecord = record.getOrCreate(version);
      if (versionRecord.model === undefined) setState(versionRecord, "LOADING", "");
    }
    const outcomes = await Promise.all(opening.map((version) => this.#open(plan, version)));
    const isComplete = outcomes.every((outcome) => outcome.error === undefined);
    if (isComplete && !this.#isStopping) this.#takeOver(record, plan, outcomes);
    else this.#abort(record, outcomes);
  }

  async #open(plan: LoadPlan, version: number): Promise<Outcome> {
    const { logger, loadRetryCount } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        const model = await this.#slots.run(() => plan.open(version));
        if (!this.#isStopping) return { version, model };
        this.#retire(model);
        return { version, error: new InferenceError("UNAVAILABLE", "Server is stopping") };
      } catch (thrown) {
        const error = inferenceErrorFrom(thrown);
        logger.error(`failed to load '${plan.modelName}' version ${version}: ${error.statusText}`);
        if (attempt >= loadRetryCount || this.#isStopping) return { version, error };
        logger.info(`retrying to load '${plan.modelName}' version ${version}`, {
          attempt: attempt + 2,
        });
      }
    }
  }

  /** All new versions take over at once; those that the plan does not want leave. */
  #takeOver(record: ModelRecord, plan: LoadPlan, outcomes: readonly Outcome[]): void {
    const replaced: Model[] = [];
    for (const { model } of outcomes) if (model !== undefined) this.#options.onReady?.(model);
    for (const { version, model } of outcomes) {
      const versionRecord = record.getOrCreate(version);
      if (versionRecord.model !== undefined) replaced.push(versionRecord.model);
      versionRecord.model = model;
      setState(versionRecord, "READY", "");
    }
    const wanted = new Set(plan.versions);
    const leaving = record.versions().filter(({ version }) => !wanted.has(version));
    this.ready.set(
      record.name,
      plan.versions.flatMap((version) => record.get(version)?.model ?? []),
    );
    for (const version of leaving) {
      if (version.model !== undefined) this.#leave(record, version);
      else if (version.state === "UNAVAILABLE") version.reason = UNLOADED_REASON;
    }
    for (const model of replaced) this.#retire(model);
    record.forgetGone(plan.versionsOnDisk);
    this.#options.logger.info(`successfully loaded '${record.name}'`, {
      versions: plan.versions.join(","),
    });
  }

  /** One version failed, so none of the load is put into service: models are replaced as a whole. */
  #abort(record: ModelRecord, outcomes: readonly Outcome[]): never {
    let text = `load failed for model '${record.name}': `;
    for (const { version, model, error } of outcomes) {
      const versionRecord = record.getOrCreate(version);
      if (model !== undefined) this.#retire(model);
      else text += `version ${version} is at UNAVAILABLE state: ${error.statusText};\n`;
      if (versionRecord.model !== undefined) continue;
      setState(versionRecord, "UNAVAILABLE", error?.statusText ?? UNLOADED_REASON);
    }
    this.#forgetIfNowhere(record);
    throw new InferenceError("INVALID_ARG", `${text}\n`);
  }

  #failWithoutVersions(record: ModelRecord): never {
    const error = new InferenceError(
      "INVALID_ARG",
      `at least one version must be available under the version policy of model '${record.name}'`,
    );
    if (record.readyModels().length === 0) record.reasonWithoutVersions = error.statusText;
    this.#options.logger.error(`failed to load '${record.name}': ${error.statusText}`);
    throw new InferenceError(
      "INVALID_ARG",
      `load failed for model '${record.name}': ${error.message}\n`,
    );
  }

  /** READY → UNLOADING, and UNAVAILABLE once the last request has ended. The version is out of `ready` already. */
  #leave(record: ModelRecord, version: VersionRecord): void {
    const { model } = version;
    if (model === undefined) return;
    version.model = undefined;
    version.leaving = model;
    setState(version, "UNLOADING", "");
    const { logger } = this.#options;
    this.#retire(model).then(() => {
      logger.info(`successfully unloaded '${record.name}' version ${version.version}`);
      // A newer load may have made something else of the record meanwhile.
      if (version.leaving !== model) return;
      version.leaving = undefined;
      if (version.state === "UNLOADING") setState(version, "UNAVAILABLE", UNLOADED_REASON);
      this.#forgetIfNowhere(record);
    });
  }

  /** Drains and frees a model that is out of service. @returns a promise that never rejects. */
  #retire(model: Model): Promise<void> {
    const end = model
      .dispose()
      .catch((thrown: unknown) => {
        const text = `failed to unload '${model.name}' version ${model.versionText}`;
        this.#options.logger.error(`${text}: ${inferenceErrorFrom(thrown).statusText}`);
      })
      .finally(() => this.#retiring.delete(model));
    this.#retiring.set(model, end);
    return end;
  }

  /**
   * Drops the record of a model that is in no repository and that nothing is left of: it came with a load request,
   * and clients could fill the memory with the names of such models.
   */
  #forgetIfNowhere(record: ModelRecord): void {
    const isOver = record.versions().every(({ state }) => state === "UNAVAILABLE");
    const isNowhere = isOver && !this.#options.isOnDisk(record.name);
    if (isNowhere && this.#records.get(record.name) === record) this.#records.delete(record.name);
  }
}

function setState(record: VersionRecord, state: VersionRecord["state"], reason: string): void {
  record.state = state;
  record.reason = reason;
}
