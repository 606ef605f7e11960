import { InferenceError } from "../../src/base/error.ts";
import type {
  ControlPlane,
  IndexEntry,
  LoadOverrides,
  LogSettings,
} from "../../src/core/control-plane.ts";
import type { DataPlane, ServerMetadata } from "../../src/core/data-plane.ts";
import type { Model } from "../../src/core/model/model.ts";
import type { InferenceRequest } from "../../src/core/request/inference-request.ts";
import type { InMemoryModel } from "./in-memory-model.ts";
import { sampleModels } from "./sample-models.ts";

const DEFAULT_LOG_SETTINGS: LogSettings = {
  logFile: "",
  logInfo: true,
  logWarning: true,
  logError: true,
  logVerboseLevel: 0,
  logFormat: "default",
};

/**
 * Both planes over models that are functions: a frontend under test needs no backend, no Worker and no repository.
 * Knows the models of `sample-models.ts`; a test adds its own with {@link add}.
 */
export class InMemoryPlanes implements DataPlane, ControlPlane {
  readonly metadata: ServerMetadata = {
    name: "triton",
    version: "2.73.0",
    extensions: ["classification", "binary_tensor_data", "statistics"],
  };
  isLive = true;
  isReady = true;
  /** Calls of the control plane, as `load:NAME`, `unload:NAME:DEPENDENTS`, with the overrides of the last load. */
  readonly controlCalls: string[] = [];
  lastOverrides: LoadOverrides | undefined = undefined;
  /** When set, load and unload throw it. */
  controlError: InferenceError | undefined = undefined;
  indexEntries: IndexEntry[] = [];
  readonly #models = new Map<string, InMemoryModel[]>();
  #logSettings = DEFAULT_LOG_SETTINGS;

  constructor(models: readonly InMemoryModel[] = sampleModels()) {
    for (const model of models) this.add(model);
  }

  /** Adds one version of a model; the versions of a name stay ascending. */
  add<T extends InMemoryModel>(model: T): T {
    const versions = this.#models.get(model.name) ?? [];
    versions.push(model);
    versions.sort((a, b) => a.version - b.version);
    this.#models.set(model.name, versions);
    this.indexEntries.push({ name: model.name, version: model.versionText, state: "READY" });
    return model;
  }

  model(name: string, versionText: string): InMemoryModel {
    const versions = this.#models.get(name);
    if (!versions) {
      throw new InferenceError("NOT_FOUND", `Request for unknown model: '${name}' is not found`);
    }
    if (versionText !== "" && !/^\d{1,18}$/.test(versionText)) {
      throw new InferenceError(
        "INVALID_ARG",
        `failed to get model version from specified version string '${versionText}' (details: stol), version should be an integral value > 0`,
      );
    }
    const model =
      versionText === ""
        ? versions.at(-1)
        : versions.find((candidate) => candidate.versionText === versionText);
    if (model) return model;
    throw new InferenceError(
      "NOT_FOUND",
      `Request for unknown model: '${name}' version ${versionText} is not found`,
    );
  }

  isModelReady(name: string, versionText: string): boolean {
    return this.model(name, versionText).isHealthy;
  }

  readyVersions(name: string): readonly string[] {
    this.model(name, "");
    return (this.#models.get(name) ?? []).map((model) => model.versionText);
  }

  statisticsModels(name: string, versionText: string): readonly InMemoryModel[] {
    if (name === "") {
      return [...this.#models.keys()].sort().flatMap((each) => this.#models.get(each) ?? []);
    }
    const versions = this.#models.get(name);
    if (!versions) {
      throw new InferenceError("INVALID_ARG", `requested model '${name}' is not available`);
    }
    if (versionText === "") return versions;
    const chosen = versions.filter((model) => model.versionText === versionText);
    if (chosen.length > 0) return chosen;
    throw new InferenceError(
      "INVALID_ARG",
      `requested model version is not available for model '${name}'`,
    );
  }

  infer(model: Model, request: InferenceRequest): void {
    if (!this.isLive) throw new InferenceError("UNAVAILABLE", "Server exiting");
    model.submit(request);
  }

  get inflightCount(): number {
    let count = 0;
    for (const versions of this.#models.values()) {
      for (const model of versions) count += model.inflightCount;
    }
    return count;
  }

  index(onlyReady: boolean): readonly IndexEntry[] {
    return onlyReady
      ? this.indexEntries.filter((entry) => entry.state === "READY")
      : this.indexEntries;
  }

  async loadModel(name: string, overrides: LoadOverrides): Promise<void> {
    if (this.controlError) throw this.controlError;
    this.controlCalls.push(`load:${name}`);
    this.lastOverrides = overrides;
  }

  async unloadModel(name: string, unloadDependents: boolean): Promise<void> {
    if (this.controlError) throw this.controlError;
    this.controlCalls.push(`unload:${name}:${unloadDependents}`);
  }

  logSettings(): LogSettings {
    return this.#logSettings;
  }

  updateLogSettings(change: Partial<LogSettings>): LogSettings {
    if (change.logFormat !== undefined && !["default", "ISO8601"].includes(change.logFormat)) {
      throw new InferenceError(
        "UNAVAILABLE",
        `invalid argument for --log_format, got: ${change.logFormat}`,
      );
    }
    this.#logSettings = { ...this.#logSettings, ...change };
    return this.#logSettings;
  }
}
