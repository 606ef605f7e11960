import type { Clock } from "../../base/clock.ts";
import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import type { BackendCancel } from "../backend/backend-instance.ts";
import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { Slab, SlabAllocator, SlabHandle } from "../memory/slab.ts";
import { SlabSizing } from "../memory/slab-sizing.ts";
import type { Batch } from "../request/batch.ts";
import { NO_PARAMETERS } from "../request/request-signature.ts";
import { writeBatchFrame } from "./batch-frame.ts";
import type { ExecutionListener, HostClient } from "./host-client.ts";
import { CAPACITY, SLOT_COUNT } from "./host-session.ts";
import type { InstanceHealthListener, SupervisedInstance } from "./instance-health.ts";
import type { ExecutionResult } from "./model-instance.ts";
import { ReplyFrameReader } from "./reply-frame.ts";
import { RestartBackoff } from "./restart-backoff.ts";

/** A host in which the instance has been made. */
export interface StartedInstance {
  readonly client: HostClient;
  readonly cancelHandle: number | undefined;
}

/** What a {@link HostedInstance} is made of. */
export interface HostedInstanceOptions {
  readonly modelName: string;
  readonly name: string;
  readonly signature: ExecutionSignature;
  readonly slabs: SlabAllocator;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the host of an instance that was made asleep, sharing the session of the first one. */
  start(): Promise<StartedInstance>;
  /** Starts a fresh host after a crash: opens the model and makes the instance again. */
  restart(): Promise<StartedInstance>;
  /** Stops a running batch; undefined where the home or the backend has no way. */
  readonly cancel: BackendCancel | undefined;
}

type OnExecuted = (result: ExecutionResult) => void;

/** A batch that the instance has. */
interface RunningBatch {
  readonly batch: Batch;
  readonly onExecuted: OnExecuted;
}

/** Where one batch goes in and comes out; the main thread's side of it. */
interface Slot {
  readonly number: number;
  input: Slab | undefined;
  outputs: readonly Slab[];
  readonly sizing: SlabSizing;
  running: RunningBatch | undefined;
}

/** The main thread's handle on an instance in a Worker or in a child process. */
export class HostedInstance implements SupervisedInstance, ExecutionListener {
  readonly name: string;
  readonly capacity = CAPACITY;
  health: InstanceHealthListener | undefined = undefined;
  readonly #options: HostedInstanceOptions;
  readonly #slots: readonly Slot[];
  /** Without a batch whose outputs somebody may read. The last one is taken first: its slabs are in the caches. */
  readonly #free: Slot[];
  readonly #replies = new ReplyFrameReader();
  readonly #backoff: RestartBackoff;
  #started: StartedInstance | undefined;
  #runningCount = 0;
  #cancelRestart: (() => void) | undefined;
  #restarting: Promise<void> | undefined;
  #disposal: Promise<void> | undefined;
  #isAsleep = false;
  /** Tells `dispose` that the last batch is over. */
  #onIdle: (() => void) | undefined;

  /** @param started undefined for an instance that sleeps until it is first needed. */
  constructor(options: HostedInstanceOptions, started: StartedInstance | undefined) {
    this.name = options.name;
    this.#options = options;
    this.#backoff = new RestartBackoff(options.clock);
    this.#slots = Array.from({ length: SLOT_COUNT }, (_, number) => ({
      number,
      input: undefined,
      outputs: [],
      sizing: new SlabSizing(),
      running: undefined,
    }));
    this.#free = this.#slots.toReversed();
    if (started === undefined) this.#isAsleep = true;
    else this.#adopt(started);
  }

  get isAsleep(): boolean {
    return this.#isAsleep;
  }

  wake(): void {
    if (!this.#isAsleep || this.#disposal !== undefined) return;
    this.#isAsleep = false;
    this.#restarting = this.#restart(this.#options.start, "instance is ready");
  }

  get isReady(): boolean {
    return this.#started !== undefined && this.#disposal === undefined;
  }

  execute(batch: Batch, onExecuted: OnExecuted): void {
    const slot = this.#runningCount < CAPACITY ? this.#free.pop() : undefined;
    if (slot === undefined)
      throw new Error(this.#says(`got more than ${CAPACITY} batches at once`));
    const running: RunningBatch = { batch, onExecuted };
    slot.running = running;
    this.#runningCount += 1;
    const client = this.#started?.client;
    try {
      if (client === undefined) throw new InferenceError("UNAVAILABLE", this.#says("is not ready"));
      this.#write(slot, batch, client);
      client.ring(slot.number);
    } catch (thrown) {
      // The contract says: called once, and not from inside `execute`.
      const error = inferenceErrorFrom(thrown);
      setImmediate(() => this.#finish(slot, running, failure(error)));
    }
  }

  cancel(batch: Batch): void {
    const { cancel } = this.#options;
    const { client, cancelHandle } = this.#started ?? {};
    if (cancel === undefined || cancelHandle === undefined) return;
    const slot = this.#slots.find(({ running }) => running?.batch === batch);
    if (slot !== undefined) client?.cancel(slot.number, () => cancel(cancelHandle));
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  onRing(slotNumber: number): void {
    const slot = this.#slots[slotNumber];
    if (slot?.running === undefined) return;
    let result: ExecutionResult;
    try {
      result = this.#replies.read(slot.outputs);
    } catch (thrown) {
      const text = `sent an unreadable reply: ${inferenceErrorFrom(thrown).message}`;
      result = failure(new InferenceError("INTERNAL", this.#says(text), { reason: "BACKEND" }));
    }
    this.#finish(slot, slot.running, result);
  }

  onOutputSlabs(slotNumber: number, handles: readonly SlabHandle[]): void {
    const slot = this.#slots[slotNumber];
    if (slot === undefined) return;
    for (const slab of slot.outputs) slab.dispose();
    slot.outputs = [];
    try {
      slot.outputs = handles.map((handle) => this.#options.slabs.attach(handle));
    } catch (thrown) {
      // The doorbell that follows finds no slab, and its batch fails.
      this.#options.logger.error("cannot attach an output slab", {
        instance: this.name,
        error: String(thrown),
      });
    }
  }

  onExecutionFailed(slotNumber: number, error: InferenceError): void {
    const slot = this.#slots[slotNumber];
    if (slot?.running !== undefined) this.#finish(slot, slot.running, failure(error));
  }

  onClosed(cause: InferenceError): void {
    this.#started = undefined;
    this.#dropOutputs();
    const wasRunning = this.#runningCount > 0;
    const error = new InferenceError(
      "INTERNAL",
      this.#says(
        `stopped unexpectedly${wasRunning ? " while it ran a batch" : ""}: ${cause.message}`,
      ),
      { reason: "BACKEND", cause },
    );
    this.#options.logger.error("instance stopped unexpectedly", {
      model: this.#options.modelName,
      instance: this.name,
      error: cause.message,
    });
    this.health?.onDownInstance(this, error, false);
    if (this.#disposal === undefined) this.#scheduleRestart();
    for (const slot of this.#slots) {
      if (slot.running !== undefined) this.#finish(slot, slot.running, failure(error));
    }
  }

  #adopt(started: StartedInstance): void {
    this.#started = started;
    started.client.listener = this;
    for (const { number, input } of this.#slots) {
      if (input !== undefined) started.client.announceInputSlab(number, input.handle);
    }
    this.#backoff.started();
  }

  #write(slot: Slot, batch: Batch, client: HostClient): void {
    slot.input ??= this.#newInput(slot, client, slot.sizing.next(0, 1));
    const neededBytes = writeBatchFrame(slot.input, batch, this.#options.signature);
    const wantedBytes = slot.sizing.next(slot.input.byteLength, neededBytes);
    if (wantedBytes === slot.input.byteLength) return;
    slot.input.dispose();
    slot.input = undefined;
    slot.input = this.#newInput(slot, client, wantedBytes);
    writeBatchFrame(slot.input, batch, this.#options.signature);
  }

  #newInput(slot: Slot, client: HostClient, byteLength: number): Slab {
    const slab = this.#options.slabs.allocate(byteLength);
    client.announceInputSlab(slot.number, slab.handle);
    return slab;
  }

  #finish(slot: Slot, running: RunningBatch, result: ExecutionResult): void {
    if (slot.running !== running) return;
    slot.running = undefined;
    this.#runningCount -= 1;
    try {
      running.onExecuted(result);
    } finally {
      this.#free.push(slot);
      if (this.#runningCount === 0) this.#onIdle?.();
    }
  }

  #scheduleRestart(): void {
    this.#cancelRestart = this.#options.clock.after(this.#backoff.nextDelayNs(), () => {
      this.#cancelRestart = undefined;
      this.#restarting = this.#restart(this.#options.restart, "instance is ready again");
    });
  }

  async #restart(start: () => Promise<StartedInstance>, message: string): Promise<void> {
    try {
      const started = await start();
      if (this.#disposal !== undefined) return await started.client.dispose();
      this.#adopt(started);
      this.#options.logger.verbose(1, message, {
        model: this.#options.modelName,
        instance: this.name,
      });
      this.health?.onReady(this);
    } catch (thrown) {
      const error = inferenceErrorFrom(thrown);
      this.#options.logger.error("instance could not be restarted", {
        model: this.#options.modelName,
        instance: this.name,
        error: error.message,
      });
      const reason = new InferenceError("UNAVAILABLE", this.#says(`is down: ${error.message}`));
      this.health?.onDownInstance(this, reason, true);
      if (this.#disposal === undefined) this.#scheduleRestart();
    }
  }

  async #dispose(): Promise<void> {
    this.#cancelRestart?.();
    await this.#restarting;
    if (this.#runningCount > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#started?.client.dispose();
    this.#started = undefined;
    for (const slot of this.#slots) {
      slot.input?.dispose();
      slot.input = undefined;
      for (const slab of slot.outputs) slab.dispose();
      slot.outputs = [];
    }
  }

  /** The host is gone: what it had made for outputs is nobody's now. */
  #dropOutputs(): void {
    for (const slot of this.#slots) {
      for (const slab of slot.outputs) {
        slab.dispose();
        this.#options.slabs.reclaim(slab.handle);
      }
      slot.outputs = [];
    }
  }

  #says(text: string): string {
    return `model '${this.#options.modelName}', instance '${this.name}' ${text}`;
  }
}

const NOTHING_BY_REQUEST = new Map<number, never>();

/** The result of a batch that failed as a whole. */
function failure(error: InferenceError): ExecutionResult {
  return {
    error,
    outputs: [],
    requestErrors: NOTHING_BY_REQUEST,
    sharedParameters: NO_PARAMETERS,
    requestParameters: NOTHING_BY_REQUEST,
    computeInputNs: 0,
    computeInferNs: 0,
    computeOutputNs: 0,
  };
}
