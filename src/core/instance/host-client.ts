import { InferenceError } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import type { OpenModelOptions } from "../backend/backend.ts";
import type { ExecutionSignature, ModelReport } from "../backend/backend-model.ts";
import type { SlabHandle } from "../memory/slab.ts";
import { errorFromNote } from "./error-note.ts";
import type { ErrorNote, HostCommand, HostLink, HostListener, HostReport } from "./host-link.ts";

/** What concerns the batches of an instance; set by its {@link HostedInstance}. */
export interface ExecutionListener {
  onRing(slot: number): void;
  onOutputSlabs(slot: number, handles: readonly SlabHandle[]): void;
  onExecutionFailed(slot: number, error: InferenceError): void;
  /** The host is gone without having been asked to. */
  onClosed(error: InferenceError): void;
}

interface PendingAnswer {
  resolve(report: HostReport): void;
  reject(error: InferenceError): void;
}

/** One instance host as the main thread speaks to it: commands as promises, everything else to a listener. */
export class HostClient implements HostListener {
  listener: ExecutionListener | undefined = undefined;
  readonly #link: HostLink;
  readonly #logger: Logger;
  #pending: PendingAnswer | undefined;
  /** Set once the host is gone. */
  #closedBy: InferenceError | undefined;
  #disposal: Promise<void> | undefined;

  constructor(link: HostLink, logger: Logger) {
    this.#link = link;
    this.#logger = logger;
    link.listener = this;
  }

  /** @throws InferenceError with the backend's words. */
  async open(backend: string, options: OpenModelOptions): Promise<ModelReport> {
    const answer = await this.#ask({ type: "open", backend, options });
    return answer.type === "opened" ? answer.report : unexpected(answer);
  }

  /** @returns the instance's cancel handle. @throws InferenceError with the backend's words. */
  async createInstance(
    name: string,
    signature: ExecutionSignature,
    config: Uint8Array,
  ): Promise<number | undefined> {
    const answer = await this.#ask({ type: "createInstance", name, signature, config });
    return answer.type === "instanceCreated" ? answer.cancelHandle : unexpected(answer);
  }

  /** Tells the host where the input slab of a slot is from now on. */
  announceInputSlab(slot: number, handle: SlabHandle): void {
    this.#link.send({ type: "inputSlab", slot, handle });
  }

  ring(slot: number): void {
    this.#link.ring(slot);
  }

  /** See {@link HostLink.cancel}. */
  cancel(slot: number, stop: () => void): void {
    this.#link.cancel(slot, stop);
  }

  /** Has the host free everything, then ends it. No batch may be running. Idempotent; never rejects. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  onRing(slot: number): void {
    this.listener?.onRing(slot);
  }

  onReport(report: HostReport): void {
    switch (report.type) {
      case "log":
        this.#print(report);
        break;
      case "outputSlabs":
        this.listener?.onOutputSlabs(report.slot, report.handles);
        break;
      case "executionFailed":
        this.listener?.onExecutionFailed(report.slot, errorFromNote(report.error));
        break;
      case "failed":
        this.#answer((pending) => pending.reject(errorFromNote(report.error)));
        break;
      default:
        this.#answer((pending) => pending.resolve(report));
    }
  }

  onClosed(error: InferenceError): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = error;
    this.#answer((pending) => pending.reject(error));
    this.listener?.onClosed(error);
  }

  async #dispose(): Promise<void> {
    try {
      await this.#ask({ type: "dispose" });
    } catch (thrown) {
      // A host that is gone has nothing left to free; one that fails to free is ended all the same.
      if (this.#closedBy === undefined) {
        this.#logger.warning("instance host did not free everything", { error: String(thrown) });
      }
    }
    await this.#link.end();
  }

  #ask(command: HostCommand): Promise<HostReport> {
    if (this.#closedBy !== undefined) return Promise.reject(this.#closedBy);
    if (this.#pending !== undefined) {
      return Promise.reject(new InferenceError("INTERNAL", `'${command.type}' before an answer`));
    }
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#link.send(command);
    });
  }

  #answer(settle: (pending: PendingAnswer) => void): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) settle(pending);
  }

  #print(record: Extract<HostReport, { type: "log" }>): void {
    const { severity, level, message, fields } = record;
    if (severity === "verbose") this.#logger.verbose(level, message, fields);
    else this.#logger[severity](message, fields);
  }
}

function unexpected(answer: HostReport): never {
  const note: ErrorNote = {
    code: "INTERNAL",
    reason: "OTHER",
    message: `an instance host answered '${answer.type}' where something else was asked`,
  };
  throw errorFromNote(note);
}
