import type { LogSettings } from "../base/log.ts";

export type { LogSettings };

/** One row of the repository index; absent members are "" on gRPC and left out of JSON. */
export interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: "UNKNOWN" | "READY" | "UNAVAILABLE" | "LOADING" | "UNLOADING";
  readonly reason?: string;
}

/** Overrides of one load (`reference/repository.md` §3). */
export interface LoadOverrides {
  /** JSON ModelConfig in place of config.pbtxt. */
  readonly configJson?: string;
  /** File contents by path relative to the model directory. */
  readonly files?: ReadonlyMap<string, Uint8Array>;
}

/** What changes the server rather than asking it. Every method throws (or rejects with) InferenceError. */
export interface ControlPlane {
  /** @param onlyReady leave out everything that is not READY. */
  index(onlyReady: boolean): readonly IndexEntry[];
  /** Resolves when the versions that the policy selects are READY. */
  loadModel(name: string, overrides: LoadOverrides): Promise<void>;
  /** Resolves once the unload has begun. @param unloadDependents also the steps of an ensemble that nothing else uses. */
  unloadModel(name: string, unloadDependents: boolean): Promise<void>;
  logSettings(): LogSettings;
  updateLogSettings(change: Partial<LogSettings>): LogSettings;
}
