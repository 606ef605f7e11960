import { InferenceError } from "../../base/error.ts";
import type { SlabAllocator } from "../memory/slab.ts";
import type { HostCommand, HostHome, HostLink, HostListener } from "./host-link.ts";
import { MainLineEnd, newThreadLine, WAKE } from "./thread-line.ts";

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
    // A small heap: a host keeps little in it, and there is one for each instance.
    return new WorkerLink(new Worker(this.#entryUrl, { smol: true }));
  }
}

/** Doorbells go over a {@link MainLineEnd}, whose wake-ups are plain numbers; every other message is an object. */
class WorkerLink implements HostLink {
  listener: HostListener | undefined = undefined;
  readonly #worker: Worker;
  readonly #line: MainLineEnd;
  readonly #closed: Promise<void>;
  #isEnding = false;
  #errorText = "its Worker ended";

  constructor(worker: Worker) {
    this.#worker = worker;
    const buffer = newThreadLine();
    this.#line = new MainLineEnd(buffer, {
      wake: () => worker.postMessage(WAKE),
      onRing: (slot) => this.listener?.onRing(slot),
    });
    worker.postMessage(buffer);
    worker.onmessage = ({ data }) => {
      if (data === WAKE) {
        this.#line.drain();
        return;
      }
      this.listener?.onReport(data);
      this.#line.countReceived();
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
    this.#line.ring(slot);
  }

  send(command: HostCommand): void {
    this.#line.countSent();
    this.#worker.postMessage(command);
  }

  cancel(slot: number, stop: () => void): void {
    this.#line.cancel(slot, stop);
  }

  /** `terminate` does not wait for native code, so the caller has made sure that none is running. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#worker.terminate();
    await this.#closed;
  }
}
