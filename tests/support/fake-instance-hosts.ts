import { InferenceError } from "../../src/base/error.ts";
import type { OpenModelOptions } from "../../src/core/backend/backend.ts";
import type { ExecutionSignature, ModelReport } from "../../src/core/backend/backend-model.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type {
  InstanceHome,
  InstanceHosts,
  OpenedModel,
} from "../../src/core/instance/instance-hosts.ts";
import type { InstancePool } from "../../src/core/instance/instance-pool.ts";
import type { ModelInstance } from "../../src/core/instance/model-instance.ts";

/** What a model "file" of the fake says about itself: one FP32 input and output, `[-1, 4]`. */
export const SAMPLE_REPORT: ModelReport = {
  inputs: [
    { name: "INPUT0", datatype: "FP32", nativeType: "float", shape: [-1, 4], isOptional: false },
  ],
  outputs: [
    { name: "OUTPUT0", datatype: "FP32", nativeType: "float", shape: [-1, 4], isOptional: false },
  ],
};

/** One model version that the fake opened. */
export interface FakeOpening {
  readonly backend: string;
  readonly options: OpenModelOptions;
  readonly home: InstanceHome;
}

/**
 * Instance hosts without Workers, backends and files. Opens whatever it is asked for, unless a test says otherwise,
 * and counts what is held, so that a test sees leaks.
 */
export class FakeInstanceHosts implements InstanceHosts {
  /** Every call of `open`, in order. */
  readonly openings: FakeOpening[] = [];
  /** Opened models that were neither disposed nor handed to a pool. */
  openedCount = 0;
  /** Pools that were not disposed. */
  poolCount = 0;
  readonly pools: FakePool[] = [];
  /** Decides how an opening ends; replaced by tests that want failures or delays. */
  report: (options: OpenModelOptions) => ModelReport | Promise<ModelReport> = () => SAMPLE_REPORT;
  /** Thrown by `createPool` where set. */
  poolError: InferenceError | undefined;

  async open(backend: string, options: OpenModelOptions, home: InstanceHome): Promise<OpenedModel> {
    this.openings.push({ backend, options, home });
    if (backend === "nonesuch") {
      throw new InferenceError("INVALID_ARG", `unable to find backend library for '${backend}'`);
    }
    const report = await this.report(options);
    this.openedCount++;
    return new FakeOpenedModel(this, report);
  }

  async dispose(): Promise<void> {
    if (this.poolCount + this.openedCount > 0) throw new Error("hosts are still in use");
  }
}

class FakeOpenedModel implements OpenedModel {
  readonly report: ModelReport;
  readonly #hosts: FakeInstanceHosts;
  #isHeld = true;

  constructor(hosts: FakeInstanceHosts, report: ModelReport) {
    this.#hosts = hosts;
    this.report = report;
  }

  async createPool(config: ModelConfig, signature: ExecutionSignature): Promise<InstancePool> {
    this.#letGo();
    if (this.#hosts.poolError !== undefined) throw this.#hosts.poolError;
    const pool = new FakePool(this.#hosts, config, signature);
    this.#hosts.pools.push(pool);
    return pool;
  }

  async dispose(): Promise<void> {
    this.#letGo();
  }

  #letGo(): void {
    if (this.#isHeld) this.#hosts.openedCount--;
    this.#isHeld = false;
  }
}

/** A pool without instances; a test may call it unhealthy. */
export class FakePool implements InstancePool {
  readonly config: ModelConfig;
  readonly signature: ExecutionSignature;
  readonly instances: readonly ModelInstance[] = [];
  readonly activeInstances: readonly ModelInstance[] = [];
  readonly hasFree = false;
  isHealthy = true;
  onFree: (() => void) | undefined;
  onLost: ((instance: ModelInstance, reason: InferenceError) => void) | undefined;
  onDown: ((reason: InferenceError) => void) | undefined;
  readonly #hosts: FakeInstanceHosts;
  #isDisposed = false;

  constructor(hosts: FakeInstanceHosts, config: ModelConfig, signature: ExecutionSignature) {
    this.#hosts = hosts;
    this.config = config;
    this.signature = signature;
    hosts.poolCount++;
  }

  acquire(): ModelInstance | undefined {
    return undefined;
  }

  acquireAhead(): ModelInstance | undefined {
    return undefined;
  }

  acquireInstance(): boolean {
    return false;
  }

  release(instance: ModelInstance): void {
    throw new Error(`${instance.name} was never acquired`);
  }

  async dispose(): Promise<void> {
    if (!this.#isDisposed) this.#hosts.poolCount--;
    this.#isDisposed = true;
  }
}
