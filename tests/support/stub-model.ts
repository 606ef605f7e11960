import type { ExecutionSignature } from "../../src/core/backend/backend-model.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type { Model } from "../../src/core/model/model.ts";
import type { InferenceRequest } from "../../src/core/request/inference-request.ts";
import type { Scheduler } from "../../src/core/scheduler/scheduler.ts";
import { ModelCounters } from "../../src/core/statistics/model-counters.ts";
import { sampleConfig, sampleSignature } from "./sample-config.ts";

/** A model that takes requests and keeps them; it drains when the test says so. */
export class StubModel implements Model, Scheduler {
  readonly name: string;
  readonly version: number;
  readonly versionText: string;
  readonly config: ModelConfig;
  readonly executionSignature: ExecutionSignature;
  readonly scheduler: Scheduler = this;
  readonly statistics = new ModelCounters();
  readonly loadDurationNs = 0;
  readonly pendingCount = 0;
  readonly submitted: InferenceRequest[] = [];
  inflightCount = 0;
  isHealthy = true;
  isDisposed = false;
  #endDrain: (() => void) | undefined;
  readonly #isDrainHeld: boolean;

  /** @param isDrainHeld whether `dispose` waits for {@link endDrain}. */
  constructor(name: string, version: number, isDrainHeld = false) {
    this.name = name;
    this.version = version;
    this.versionText = String(version);
    this.config = sampleConfig({ name, inputs: [] });
    this.executionSignature = sampleSignature(this.config);
    this.#isDrainHeld = isDrainHeld;
  }

  submit(request: InferenceRequest): void {
    this.enqueue(request);
  }

  enqueue(request: InferenceRequest): void {
    this.submitted.push(request);
    this.inflightCount++;
  }

  async stop(): Promise<void> {
    if (this.#isDrainHeld) await new Promise<void>((resolve) => (this.#endDrain = resolve));
  }

  async dispose(): Promise<void> {
    await this.stop();
    this.isDisposed = true;
  }

  /** Lets a held `dispose` come to its end. */
  endDrain(): void {
    this.inflightCount = 0;
    this.#endDrain?.();
  }
}
