import type { OpenModelOptions } from "../backend/backend.ts";
import type { ExecutionSignature, ModelReport } from "../backend/backend-model.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { InstancePool } from "./instance-pool.ts";

/** Where the instances of a model live: Workers of this process, or child processes. Config parameter `isolation`. */
export type InstanceHome = "thread" | "process";

/** One version of a model, opened in a first host and not serving yet. */
export interface OpenedModel {
  readonly report: ModelReport;
  /**
   * Starts every instance of the configuration's (normalised) instance groups. On success the pool owns what this
   * object held; on failure everything is freed.
   * @throws InferenceError with the backend's words.
   */
  createPool(config: ModelConfig, signature: ExecutionSignature): Promise<InstancePool>;
  /** Frees the session and the first host. Does nothing after `createPool`. Idempotent. */
  dispose(): Promise<void>;
}

/** Starts the hosts in which backends run. One per server. */
export interface InstanceHosts {
  /**
   * Starts a host, loads the backend in it and opens one version of a model.
   *
   * @param backend name in the backend catalog.
   * @throws InferenceError with the backend's words; the host is then gone.
   */
  open(backend: string, options: OpenModelOptions, home: InstanceHome): Promise<OpenedModel>;
  /** Ends hosts that are still there. The pools must have been disposed before. Idempotent. */
  dispose(): Promise<void>;
}
