import type { Model } from "./model.ts";

/**
 * Where a version of a model is in its life. UNKNOWN is what a version is that nobody has asked for; it never stands
 * in a record.
 */
export type ModelState = "UNKNOWN" | "LOADING" | "READY" | "UNLOADING" | "UNAVAILABLE";

/** Reason of a version that was unloaded on purpose; it does not hold readiness back. */
export const UNLOADED_REASON = "unloaded";

/** State of one version, as the index shows it. */
export interface VersionState {
  readonly version: number;
  readonly state: ModelState;
  /** "" where there is nothing to say. */
  readonly reason: string;
}

/** Versions that are gone from disk and unloaded are forgotten beyond this many per model. */
const MAX_GONE_VERSIONS = 100;

/** One version in a {@link ModelRecord}; written by the lifecycle alone. */
export interface VersionRecord extends VersionState {
  state: ModelState;
  reason: string;
  /** Set while READY. */
  model: Model | undefined;
  /** The model whose end UNLOADING waits for. */
  leaving: Model | undefined;
}

/** What is known about one model: its versions, once a load was tried. */
export class ModelRecord {
  readonly name: string;
  /** Why the newest load found no version at all; "" where it found some. */
  reasonWithoutVersions = "";
  readonly #versions = new Map<number, VersionRecord>();

  constructor(name: string) {
    this.name = name;
  }

  get(version: number): VersionRecord | undefined {
    return this.#versions.get(version);
  }

  /** The record of a version, made where there is none. */
  getOrCreate(version: number): VersionRecord {
    const known = this.#versions.get(version);
    if (known !== undefined) return known;
    const record: VersionRecord = {
      version,
      state: "UNKNOWN",
      reason: "",
      model: undefined,
      leaving: undefined,
    };
    this.#versions.set(version, record);
    return record;
  }

  /** Ascending. */
  versions(): readonly VersionRecord[] {
    return [...this.#versions.values()].sort((a, b) => a.version - b.version);
  }

  /** The models of the READY versions. */
  readyModels(): readonly Model[] {
    const models: Model[] = [];
    for (const { model } of this.#versions.values()) if (model !== undefined) models.push(model);
    return models;
  }

  /** Forgets the oldest unloaded versions that are not on disk any more, so that the record stays small. */
  forgetGone(onDisk: ReadonlySet<number>): void {
    const gone = this.versions().filter(
      ({ version, reason }) => reason === UNLOADED_REASON && !onDisk.has(version),
    );
    for (const { version } of gone.slice(0, Math.max(0, gone.length - MAX_GONE_VERSIONS))) {
      this.#versions.delete(version);
    }
  }
}
