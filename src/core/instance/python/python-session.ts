import { type ErrorCode, InferenceError, inferenceErrorFrom } from "../../../base/error.ts";
import type { Logger } from "../../../base/log.ts";
import type { Slab, SlabAllocator } from "../../memory/slab.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { PythonCalls } from "./python-calls.ts";
import { encodeFrame, type Frame } from "./python-frames.ts";
import { PythonProcess, type PythonProcessOptions } from "./python-process.ts";
import { PythonTensors, type TensorEntry } from "./python-tensors.ts";
import type { ServerCalls } from "./server-calls.ts";

/** What a session is made of. */
export interface PythonSessionOptions extends PythonProcessOptions {
  readonly slabs: SlabAllocator;
  readonly calls: ServerCalls;
}

/** Who is told of what a process says about batches and requests. */
export interface PythonSessionListener {
  /** A `d` frame: a batch is over. */
  onBatchDone(message: Readonly<Record<string, unknown>>, tail: Uint8Array): void;
  /** An `s` frame: a response sender spoke. */
  onResponse(message: Readonly<Record<string, unknown>>, tail: Uint8Array): void;
  onClosed(error: InferenceError): void;
}

/** One running process with its memory: what is between an instance and CPython. */
export class PythonSession {
  readonly name: string;
  readonly tensors: PythonTensors;
  listener: PythonSessionListener | undefined = undefined;
  readonly #logger: Logger;
  readonly #calls: PythonCalls;
  #process: PythonProcess | undefined;
  #freed: [number, number][] = [];
  #isFlushScheduled = false;
  #isClosed = false;
  #nextKey = 0;
  /** What `ask` waits for, oldest first: the process answers in the order in which it was asked. */
  readonly #awaited: PromiseWithResolvers<Frame["message"]>[] = [];

  private constructor(options: PythonSessionOptions) {
    this.name = options.name;
    this.#logger = options.logger;
    this.tensors = new PythonTensors(options.slabs, options.firstSegmentBytes, (segment, slab) =>
      this.#announce(segment, slab),
    );
    this.#calls = new PythonCalls(this, options.calls, options.logger);
  }

  /** @throws InferenceError when the process cannot be started. */
  static async start(options: PythonSessionOptions): Promise<PythonSession> {
    const session = new PythonSession(options);
    try {
      session.#process = await PythonProcess.start(options, {
        onFrame: (frame) => session.#onFrame(frame),
        onExit: (description) => session.#onExit(description),
      });
      return session;
    } catch (error) {
      session.tensors[Symbol.dispose]();
      throw error;
    }
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** A number that names a lease, a batch or a request; never given twice. */
  nextKey(): number {
    this.#nextKey += 1;
    return this.#nextKey;
  }

  /** @param text JSON of an object. */
  send(text: string, tail: readonly Uint8Array[] = []): void {
    this.#process?.send(encodeFrame(this.#withFreed(text), tail));
  }

  /**
   * Sends a command and waits for its answer. Several may wait; one that came too late is passed over.
   * @throws InferenceError INTERNAL with the model's words; also when the process ends or takes too long.
   */
  async ask(
    command: Readonly<Record<string, unknown>>,
    timeoutMs: number,
  ): Promise<Frame["message"]> {
    if (this.#isClosed) throw this.#closedError("it has ended");
    const answer = Promise.withResolvers<Frame["message"]>();
    this.#awaited.push(answer);
    const timer = setTimeout(() => {
      answer.reject(
        new InferenceError("INTERNAL", `'${this.name}' did not answer within ${timeoutMs} ms`, {
          reason: "BACKEND",
        }),
      );
    }, timeoutMs);
    this.send(JSON.stringify(command));
    try {
      const message = await answer.promise;
      if (message["t"] !== "failed") return message;
      throw new InferenceError("INTERNAL", String(message["e"]), { reason: "BACKEND" });
    } finally {
      clearTimeout(timer);
    }
  }

  /** A tensor of a frame; its block goes back to the process after this turn of the event loop. */
  read(entry: TensorEntry, tail: Uint8Array): Tensor {
    return this.tensors.read(entry, tail, this.#freed);
  }

  /** Returns the blocks that were read, with the next frame or at the end of this turn. */
  returnBlocks(blocks: readonly [number, number][] = []): void {
    this.#freed.push(...blocks);
    if (this.#freed.length === 0 || this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      if (this.#freed.length > 0) this.send('{"t":"free"}');
    });
  }

  /** Lets the model finalize and waits for the end of its process. */
  async end(graceMs: number): Promise<void> {
    try {
      if (!this.#isClosed) {
        const answer = await this.ask({ t: "z" }, graceMs);
        if (answer["e"] !== null) {
          this.#logger.error("finalize of a Python model failed", {
            instance: this.name,
            error: String(answer["e"]),
          });
        }
      }
    } catch (error) {
      if (!this.#isClosed) {
        this.#logger.warning("a Python model did not finalize", {
          instance: this.name,
          error: inferenceErrorFrom(error).message,
        });
      }
      this.kill();
    }
    await this.#process?.ended();
  }

  kill(): void {
    this.#process?.kill();
  }

  #withFreed(text: string): string {
    if (this.#freed.length === 0) return text;
    const freed = JSON.stringify(this.#freed);
    this.#freed = [];
    return `${text.slice(0, -1)},"free":${freed}}`;
  }

  #announce(segment: number, slab: Slab): void {
    const { path, byteLength } = slab.handle;
    this.send(JSON.stringify({ t: "map", s: segment, path, size: byteLength }));
  }

  #onFrame({ message, tail }: Frame): void {
    const released = message["rel"];
    if (Array.isArray(released)) this.tensors.release(released as number[]);
    switch (message["t"]) {
      case "d":
        this.listener?.onBatchDone(message, tail);
        break;
      case "s":
        this.listener?.onResponse(message, tail);
        break;
      case "call":
        this.#calls.handle(message, tail);
        break;
      case "map":
        this.tensors.map(Number(message["s"]), String(message["path"]), Number(message["size"]));
        break;
      case "log":
        this.#log(message);
        break;
      case "rel":
      case "mapped":
        break;
      default:
        this.#awaited.shift()?.resolve(message);
    }
    this.returnBlocks();
  }

  #log(message: Frame["message"]): void {
    const text = String(message["m"]);
    const fields = { instance: this.name, at: `${message["file"]}:${message["line"]}` };
    switch (message["l"]) {
      case 1:
        this.#logger.warning(text, fields);
        break;
      case 2:
        this.#logger.error(text, fields);
        break;
      case 3:
        this.#logger.verbose(1, text, fields);
        break;
      default:
        this.#logger.info(text, fields);
    }
  }

  #onExit(description: string): void {
    this.#isClosed = true;
    this.#calls.dispose();
    const error = this.#closedError(description);
    for (const answer of this.#awaited.splice(0)) answer.reject(error);
    this.listener?.onClosed(error);
    this.tensors[Symbol.dispose]();
  }

  #closedError(description: string): InferenceError {
    return new InferenceError(
      "INTERNAL",
      `Failed to process the request(s) for model '${this.name}', message: Stub process '${this.name}' is not healthy: ${description}.`,
      { reason: "BACKEND" },
    );
  }
}

/** An error of the wire: code and text. */
export function errorFromWire(pair: unknown): InferenceError {
  const [code, text] = Array.isArray(pair) ? pair : ["INTERNAL", String(pair)];
  return new InferenceError(code as ErrorCode, String(text), { reason: "BACKEND" });
}
