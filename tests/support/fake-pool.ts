import type { InferenceError } from "../../src/base/error.ts";
import type { InstancePool } from "../../src/core/instance/instance-pool.ts";
import type { ExecutionResult, ModelInstance } from "../../src/core/instance/model-instance.ts";
import type { Batch } from "../../src/core/request/batch.ts";
import type { RequestAnswers } from "../../src/core/request/request-answers.ts";
import { NO_PARAMETERS } from "../../src/core/request/request-signature.ts";

/** A result without outputs. */
export const EMPTY_RESULT: ExecutionResult = {
  error: undefined,
  outputs: [],
  requestErrors: new Map(),
  sharedParameters: NO_PARAMETERS,
  requestParameters: new Map(),
  computeInputNs: 0,
  computeInferNs: 0,
  computeOutputNs: 0,
};

interface FakeRun {
  readonly batch: Batch;
  readonly onExecuted: (result: ExecutionResult) => void;
  readonly answers: RequestAnswers;
}

/** An instance that runs nothing: a test ends its batches. */
export class FakeInstance implements ModelInstance {
  readonly name: string;
  isReady = true;
  /** Batches that it was asked to stop. */
  readonly cancelled: Batch[] = [];
  /** Told of every batch as it starts. */
  onStart: ((batch: Batch) => void) | undefined;
  readonly capacity: number;
  /** The batches that it has; the first one runs. */
  readonly runs: FakeRun[] = [];

  constructor(name: string, capacity = 1) {
    this.name = name;
    this.capacity = capacity;
  }

  get running(): FakeRun | undefined {
    return this.runs[0];
  }

  execute(
    batch: Batch,
    onExecuted: (result: ExecutionResult) => void,
    answers: RequestAnswers,
  ): void {
    if (this.runs.length === this.capacity) throw new Error(`${this.name} got a batch too many`);
    this.runs.push({ batch, onExecuted, answers });
    this.onStart?.(batch);
  }

  /** Ends the running batch. */
  finish(result: ExecutionResult = EMPTY_RESULT): Batch {
    const running = this.runs.shift();
    if (running === undefined) throw new Error(`${this.name} runs nothing`);
    running.onExecuted(result);
    return running.batch;
  }

  cancel(batch: Batch): void {
    this.cancelled.push(batch);
  }

  async dispose(): Promise<void> {
    this.isReady = false;
  }
}

/** A pool of {@link FakeInstance}s that remembers every batch handed out. */
export class FakePool implements InstancePool {
  readonly instances: FakeInstance[];
  readonly activeInstances: FakeInstance[];
  readonly isHealthy = true;
  onFree: (() => void) | undefined;
  onLost: ((instance: ModelInstance, reason: InferenceError) => void) | undefined;
  onDown: ((reason: InferenceError) => void) | undefined;
  readonly #free: FakeInstance[];

  constructor(count: number, capacity = 1) {
    this.instances = Array.from(
      { length: count },
      (_, i) => new FakeInstance(`fake_${i}`, capacity),
    );
    this.activeInstances = this.instances;
    this.#free = [...this.instances];
  }

  get hasFree(): boolean {
    return this.#free.length > 0;
  }

  acquire(): FakeInstance | undefined {
    return this.#free.shift();
  }

  acquireAhead(): FakeInstance | undefined {
    const [best] = this.instances
      .filter(({ isReady, runs, capacity }) => isReady && runs.length > 0 && runs.length < capacity)
      .toSorted((a, b) => a.runs.length - b.runs.length);
    return best;
  }

  acquireInstance(instance: ModelInstance): boolean {
    const own = this.#free.find((candidate) => candidate === instance);
    if (own === undefined) return false;
    this.#free.splice(this.#free.indexOf(own), 1);
    return true;
  }

  release(instance: ModelInstance): void {
    const own = this.instances.find((candidate) => candidate === instance);
    if (own?.isReady && own.runs.length === 0) this.#free.push(own);
  }

  /** The instance stops as if its process had ended; a batch on it fails. */
  crash(instance: FakeInstance, reason: InferenceError): void {
    instance.isReady = false;
    this.acquireInstance(instance);
    this.onLost?.(instance, reason);
    while (instance.running !== undefined) instance.finish({ ...EMPTY_RESULT, error: reason });
  }

  /** A stopped instance is there again. */
  restart(instance: FakeInstance): void {
    instance.isReady = true;
    this.#free.push(instance);
    this.onFree?.();
  }

  /** Instances with a batch. */
  get busy(): FakeInstance[] {
    return this.instances.filter((instance) => instance.running !== undefined);
  }

  async dispose(): Promise<void> {
    for (const instance of this.instances) await instance.dispose();
  }
}
