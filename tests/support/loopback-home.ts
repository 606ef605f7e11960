import { InferenceError } from "../../src/base/error.ts";
import type { Backend } from "../../src/core/backend/backend.ts";
import type {
  HostCommand,
  HostHome,
  HostLink,
  HostListener,
  HostReport,
} from "../../src/core/instance/host-link.ts";
import { HostSession } from "../../src/core/instance/host-session.ts";
import { HeapSlabs } from "./heap-slabs.ts";

/** Hosts in the test's own thread, over slabs on the heap; a test can crash them. */
export class LoopbackHome implements HostHome {
  readonly slabs = new HeapSlabs();
  readonly sharesProcess = true;
  /** Hosts started so far, the ended ones included. */
  readonly links: LoopbackLink[] = [];
  /** Set to have the next starts fail. */
  startFailure: InferenceError | undefined;
  readonly #createBackend: () => Backend;

  constructor(createBackend: () => Backend) {
    this.#createBackend = createBackend;
  }

  async start(): Promise<HostLink> {
    if (this.startFailure !== undefined) throw this.startFailure;
    const link = new LoopbackLink(this.slabs, this.#createBackend);
    this.links.push(link);
    return link;
  }
}

/** Both ends of a line; what is said arrives at the end of the event loop's turn, as from another thread. */
export class LoopbackLink implements HostLink {
  listener: HostListener | undefined = undefined;
  hasEnded = false;
  readonly commands: HostCommand["type"][] = [];
  readonly #session: HostSession;

  constructor(slabs: HeapSlabs, createBackend: () => Backend) {
    this.#session = new HostSession({
      port: {
        ring: (slot) => this.#up((listener) => listener.onRing(slot)),
        enter: () => true,
        leave: () => undefined,
        send: (report) => this.say(report),
      },
      slabs,
      clock: { nowNs: () => Bun.nanoseconds() },
      createBackend: async () => createBackend(),
    });
  }

  ring(slot: number): void {
    this.#down(() => this.#session.ring(slot));
  }

  send(command: HostCommand): void {
    this.commands.push(command.type);
    this.#down(() => void this.#session.receive(structuredClone(command)));
  }

  cancel(_slot: number, stop: () => void): void {
    stop();
  }

  async end(): Promise<void> {
    this.hasEnded = true;
  }

  /** Has the host report something. */
  say(report: HostReport): void {
    this.#up((listener) => listener.onReport(structuredClone(report)));
  }

  /** The host is gone from one moment to the next. */
  crash(text: string): void {
    const { listener } = this;
    this.hasEnded = true;
    listener?.onClosed(new InferenceError("INTERNAL", text));
  }

  #up(tell: (listener: HostListener) => void): void {
    setImmediate(() => {
      if (!this.hasEnded && this.listener !== undefined) tell(this.listener);
    });
  }

  #down(tell: () => void): void {
    setImmediate(() => {
      if (!this.hasEnded) tell();
    });
  }
}
