import type { Clock } from "../../base/clock.ts";
import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { LogFields, Logger } from "../../base/log.ts";
import type { Backend } from "../backend/backend.ts";
import type { BackendInstance } from "../backend/backend-instance.ts";
import type { BackendModel } from "../backend/backend-model.ts";
import type { SlabAllocator, SlabHandle } from "../memory/slab.ts";
import { errorNoteFrom } from "./error-note.ts";
import { executionFailure, HostBatch } from "./host-batch.ts";
import type { HostCommand, HostPort } from "./host-link.ts";
import { OutputArea } from "./output-area.ts";
import { ReplyFrameWriter } from "./reply-frame.ts";
import { SlotFrame } from "./slot-frame.ts";

/** What a {@link HostSession} needs of its surroundings. */
export interface HostSessionOptions {
  readonly port: HostPort;
  readonly slabs: SlabAllocator;
  readonly clock: Pick<Clock, "nowNs">;
  /** Loads a backend by its name in the catalog. @throws InferenceError with the reason. */
  createBackend(
    name: string,
    logger: Logger,
    libraryPaths: Readonly<Record<string, string>>,
  ): Promise<Backend>;
}

/** One of the places in which a batch goes in and comes out. */
interface Slot {
  input: SlotFrame | undefined;
  readonly area: OutputArea;
}

/** Batches that an instance may have at once, the one that runs among them. */
export const CAPACITY = 4;

/** One more, so that the outputs of a batch can be read while its instance has all it can have. */
export const SLOT_COUNT = CAPACITY + 1;

/**
 * The host's side of one instance: opens the model, makes the instance, runs batches when the bell rings. The same
 * in a Worker and in a child process. Everything it made is freed by `dispose`, in reverse order.
 */
export class HostSession {
  readonly #options: HostSessionOptions;
  readonly #port: HostPort;
  readonly #logger: Logger;
  readonly #slots: readonly Slot[];
  readonly #replies = new ReplyFrameWriter();
  #backend: Backend | undefined;
  #model: BackendModel | undefined;
  #instance: BackendInstance | undefined;
  /** Settles when the running batch is over. */
  #running: Promise<void> | undefined;
  /** Slots whose doorbell rang while a batch ran, in order. */
  readonly #waiting: number[] = [];

  constructor(options: HostSessionOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#logger = new PortLogger(options.port);
    this.#slots = Array.from({ length: SLOT_COUNT }, (_, slot) => ({
      input: undefined,
      area: new OutputArea(options.slabs, (handles) =>
        this.#port.send({ type: "outputSlabs", slot, handles }),
      ),
    }));
  }

  /** Obeys one command; its answer goes through the port. Never rejects. */
  async receive(command: HostCommand): Promise<void> {
    try {
      switch (command.type) {
        case "open":
          await this.#open(command);
          break;
        case "createInstance":
          await this.#createInstance(command);
          break;
        case "inputSlab":
          this.#attachInput(command.slot, command.handle);
          break;
        case "dispose":
          await this.dispose();
          this.#port.send({ type: "disposed" });
          break;
      }
    } catch (thrown) {
      const error = errorNoteFrom(thrown);
      // Nobody waits for the answer to `inputSlab`; the batch that should have lain in it will fail.
      if (command.type === "inputSlab") {
        this.#logger.error("instance host cannot attach an input slab", { error: error.message });
      } else {
        this.#port.send({ type: "failed", error });
      }
    }
  }

  /** Runs the batch in a slot and rings back; after those that rang before. */
  ring(slotNumber: number): void {
    if (this.#running === undefined) this.#run(slotNumber);
    else this.#waiting.push(slotNumber);
  }

  #run(slotNumber: number): void {
    const slot = this.#slots[slotNumber];
    if (slot === undefined) return;
    let batch: HostBatch | undefined;
    try {
      const startNs = this.#options.clock.nowNs();
      if (slot.input === undefined) throw new Error("the doorbell rang before an input slab came");
      slot.area.reset();
      batch = new HostBatch(slot.input.read(), slot.area, this.#options.clock, startNs);
      const instance = this.#instance;
      if (instance === undefined) throw new Error("the doorbell rang before an instance was made");
      if (!this.#port.enter(slotNumber)) {
        throw new InferenceError("CANCELLED", "the batch was cancelled before it ran");
      }
      const execution = instance.execute(batch);
      if (execution instanceof Promise) {
        this.#running = this.#finishLater(execution, slotNumber, slot, batch);
        return;
      }
    } catch (thrown) {
      this.#failBatch(batch, slotNumber, thrown);
      if (batch === undefined) return;
    }
    this.#port.leave(slotNumber);
    this.#finish(slotNumber, slot, batch);
  }

  /** Frees instance, model, backend and slabs, after the running batch. Idempotent. */
  async dispose(): Promise<void> {
    await this.#running;
    const owned = [this.#instance, this.#model, this.#backend];
    this.#instance = this.#model = this.#backend = undefined;
    for (const one of owned) one?.[Symbol.dispose]();
    for (const slot of this.#slots) {
      slot.input?.dispose();
      slot.input = undefined;
      slot.area.dispose();
    }
  }

  async #open(command: Extract<HostCommand, { type: "open" }>): Promise<void> {
    const { backend, options } = command;
    this.#backend ??= await this.#options.createBackend(
      backend,
      this.#logger,
      options.libraryPaths,
    );
    this.#model = await this.#backend.openModel(options);
    this.#port.send({ type: "opened", report: this.#model.report });
  }

  async #createInstance(command: Extract<HostCommand, { type: "createInstance" }>): Promise<void> {
    if (this.#model === undefined) throw new Error("an instance was asked for before a model");
    const { name, signature, config } = command;
    this.#instance = await this.#model.createInstance(name, signature, config);
    this.#port.send({ type: "instanceCreated", cancelHandle: this.#instance.cancelHandle });
  }

  #attachInput(slotNumber: number, handle: SlabHandle): void {
    const slot = this.#slots[slotNumber];
    if (slot === undefined) return;
    slot.input?.dispose();
    slot.input = undefined;
    slot.input = new SlotFrame(this.#options.slabs.attach(handle));
  }

  async #finishLater(
    execution: Promise<void>,
    slotNumber: number,
    slot: Slot,
    batch: HostBatch,
  ): Promise<void> {
    try {
      await execution;
    } catch (thrown) {
      this.#failBatch(batch, slotNumber, thrown);
    }
    this.#port.leave(slotNumber);
    this.#running = undefined;
    this.#finish(slotNumber, slot, batch);
    this.#runWaiting();
  }

  /** Until one takes its time again. */
  #runWaiting(): void {
    while (this.#running === undefined) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#run(next);
    }
  }

  #failBatch(batch: HostBatch | undefined, slot: number, thrown: unknown): void {
    const error = inferenceErrorFrom(thrown);
    if (batch !== undefined) batch.failBatch(error);
    else
      this.#port.send({
        type: "executionFailed",
        slot,
        error: errorNoteFrom(executionFailure(error)),
      });
  }

  #finish(slotNumber: number, slot: Slot, batch: HostBatch): void {
    try {
      batch.markEnd();
      this.#replies.write(slot.area, batch);
      this.#port.ring(slotNumber);
    } catch (thrown) {
      this.#failBatch(undefined, slotNumber, thrown);
    }
  }
}

/** Sends records to the main thread, which prints them. */
class PortLogger implements Logger {
  readonly #port: HostPort;

  constructor(port: HostPort) {
    this.#port = port;
  }

  error(message: string, fields: LogFields = {}): void {
    this.#port.send({ type: "log", severity: "error", level: 0, message, fields });
  }

  warning(message: string, fields: LogFields = {}): void {
    this.#port.send({ type: "log", severity: "warning", level: 0, message, fields });
  }

  info(message: string, fields: LogFields = {}): void {
    this.#port.send({ type: "log", severity: "info", level: 0, message, fields });
  }

  verbose(level: number, message: string, fields: LogFields = {}): void {
    this.#port.send({ type: "log", severity: "verbose", level, message, fields });
  }
}
