import { InferenceError } from "../../base/error.ts";
import type { SlabAllocator } from "../memory/slab.ts";
import type { HostCommand, HostHome, HostLink, HostListener } from "./host-link.ts";

/** Instances in Workers of this process. */
export class ThreadHome implements HostHome {
  readonly slabs: SlabAllocator;
  readonly sharesProcess = true;
  readonly #entryUrl: string;

  /** @param entryUrl module of the instance host; in the compiled executable one of its entry points. */
  constructor(slabs: SlabAllocator, entryUrl: string) {
    this.slabs = slabs;
    this.#entryUrl = entryUrl;
  }

  async start(): Promise<HostLink> {
    return new WorkerLink(new Worker(this.#entryUrl));
  }
}

/** Doorbells are messages that are plain numbers; everything else is an object. */
class WorkerLink implements HostLink {
  listener: HostListener | undefined = undefined;
  readonly #worker: Worker;
  readonly #closed: Promise<void>;
  #isEnding = false;
  #errorText = "its Worker ended";

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }) => {
      if (typeof data === "number") this.listener?.onRing(data);
      else this.listener?.onReport(data);
    };
    worker.onerror = (event) => {
      this.#errorText = event.message;
    };
    this.#closed = new Promise((resolve) => {
      worker.addEventListener("close", () => {
        resolve();
        if (this.#isEnding) return;
        this.listener?.onClosed(new InferenceError("INTERNAL", this.#errorText));
      });
    });
  }

  ring(slot: number): void {
    this.#worker.postMessage(slot);
  }

  send(command: HostCommand): void {
    this.#worker.postMessage(command);
  }

  /** `terminate` does not wait for native code, so the caller has made sure that none is running. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#worker.terminate();
    await this.#closed;
  }
}
