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
import { SLOT_COUNT } from "./host-session.ts";
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
  /** Starts a fresh host after a crash: opens the model and makes the instance again. */
  restart(): Promise<StartedInstance>;
  /** Stops a running batch; undefined where the home or the backend has no way. */
  readonly cancel: BackendCancel | undefined;
}

interface Slot {
  input: Slab | undefined;
  outputs: readonly Slab[];
  readonly sizing: SlabSizing;
}

type OnExecuted = (result: ExecutionResult) => void;

/** The main thread's handle on an instance in a Worker or in a child process. */
export class HostedInstance implements SupervisedInstance, ExecutionListener {
  readonly name: string;
  health: InstanceHealthListener | undefined = undefined;
  readonly #options: HostedInstanceOptions;
  readonly #slots: readonly Slot[];
  readonly #replies = new ReplyFrameReader();
  readonly #backoff: RestartBackoff;
  #started: StartedInstance | undefined;
  #slotNumber = 0;
  #onExecuted: OnExecuted | undefined;
  #cancelRestart: (() => void) | undefined;
  #restarting: Promise<void> | undefined;
  #disposal: Promise<void> | undefined;
  /** Tells `dispose` that the running batch is over. */
  #onIdle: (() => void) | undefined;

  constructor(options: HostedInstanceOptions, started: StartedInstance) {
    this.name = options.name;
    this.#options = options;
    this.#backoff = new RestartBackoff(options.clock);
    this.#slots = Array.from({ length: SLOT_COUNT }, () => ({
      input: undefined,
      outputs: [],
      sizing: new SlabSizing(),
    }));
    this.#adopt(started);
  }

  get isReady(): boolean {
    return this.#started !== undefined && this.#disposal === undefined;
  }

  execute(batch: Batch, onExecuted: OnExecuted): void {
    const client = this.#started?.client;
    this.#onExecuted = onExecuted;
    this.#slotNumber = (this.#slotNumber + 1) % SLOT_COUNT;
    try {
      if (client === undefined) throw new InferenceError("UNAVAILABLE", this.#says("is not ready"));
      this.#write(batch, client);
      client.ring(this.#slotNumber);
    } catch (thrown) {
      // The contract says: called once, and not from inside `execute`.
      const error = inferenceErrorFrom(thrown);
      setImmediate(() => this.#finish(failure(error)));
    }
  }

  cancelRunning(): void {
    const handle = this.#started?.cancelHandle;
    if (this.#onExecuted === undefined || handle === undefined) return;
    this.#options.cancel?.(handle);
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  onRing(slotNumber: number): void {
    if (slotNumber !== this.#slotNumber) return;
    let result: ExecutionResult;
    try {
      result = this.#replies.read(this.#slots[slotNumber]?.outputs ?? []);
    } catch (thrown) {
      const text = `sent an unreadable reply: ${inferenceErrorFrom(thrown).message}`;
      result = failure(new InferenceError("INTERNAL", this.#says(text), { reason: "BACKEND" }));
    }
    this.#finish(result);
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
    if (slotNumber === this.#slotNumber) this.#finish(failure(error));
  }

  onClosed(cause: InferenceError): void {
    this.#started = undefined;
    this.#dropOutputs();
    const wasRunning = this.#onExecuted !== undefined;
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
    this.#finish(failure(error));
  }

  #adopt(started: StartedInstance): void {
    this.#started = started;
    started.client.listener = this;
    this.#slots.forEach(({ input }, number) => {
      if (input !== undefined) started.client.announceInputSlab(number, input.handle);
    });
    this.#backoff.started();
  }

  #write(batch: Batch, client: HostClient): void {
    const slot = this.#slots[this.#slotNumber];
    if (slot === undefined) return;
    slot.input ??= this.#newInput(client, slot.sizing.next(0, 1));
    const neededBytes = writeBatchFrame(slot.input, batch, this.#options.signature);
    const wantedBytes = slot.sizing.next(slot.input.byteLength, neededBytes);
    if (wantedBytes === slot.input.byteLength) return;
    slot.input.dispose();
    slot.input = undefined;
    slot.input = this.#newInput(client, wantedBytes);
    writeBatchFrame(slot.input, batch, this.#options.signature);
  }

  #newInput(client: HostClient, byteLength: number): Slab {
    const slab = this.#options.slabs.allocate(byteLength);
    client.announceInputSlab(this.#slotNumber, slab.handle);
    return slab;
  }

  #finish(result: ExecutionResult): void {
    const onExecuted = this.#onExecuted;
    if (onExecuted === undefined) return;
    this.#onExecuted = undefined;
    onExecuted(result);
    if (this.#onExecuted === undefined) this.#onIdle?.();
  }

  #scheduleRestart(): void {
    this.#cancelRestart = this.#options.clock.after(this.#backoff.nextDelayNs(), () => {
      this.#cancelRestart = undefined;
      this.#restarting = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    try {
      const started = await this.#options.restart();
      if (this.#disposal !== undefined) return await started.client.dispose();
      this.#adopt(started);
      this.#options.logger.info("instance is ready again", {
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
    if (this.#onExecuted !== undefined) {
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
