import { InferenceError } from "../../base/error.ts";
import type { SlabAllocator } from "../memory/slab.ts";
import type { HostCommand, HostHome, HostLink, HostListener, HostReport } from "./host-link.ts";
import { SocketChannel } from "./socket-channel.ts";
import { socketFromFd } from "./socket-from-fd.ts";

/** Descriptor on which a child finds its end of the socket. */
export const HOST_SOCKET_FD = 3;

/** A child that was told to go gets this long before it is killed. */
const EXIT_GRACE_MS = 2000;

/**
 * Instances in child processes of the same executable: a crash in native code ends the child alone. Tensors lie in
 * shared memory, doorbells and messages go over a socket pair that has no name anywhere.
 */
export class ProcessHome implements HostHome {
  readonly slabs: SlabAllocator;
  readonly sharesProcess = false;
  readonly #command: readonly string[];

  /** @param command starts an instance host that speaks over descriptor {@link HOST_SOCKET_FD}. */
  constructor(slabs: SlabAllocator, command: readonly string[]) {
    this.slabs = slabs;
    this.#command = command;
  }

  async start(): Promise<HostLink> {
    const link = new ChildLink();
    try {
      const child = Bun.spawn([...this.#command], {
        stdio: ["ignore", "inherit", "inherit", "pipe"],
        onExit: (_child, exitCode, signal) => link.childExited(exitCode, signal),
      });
      await link.connect(child);
      return link;
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new InferenceError("INTERNAL", `cannot start an instance host: ${text}`, { cause });
    }
  }
}

class ChildLink implements HostLink {
  listener: HostListener | undefined = undefined;
  #child: Bun.Subprocess | undefined;
  #socket: Bun.Socket | undefined;
  /** Made before the socket, because bytes may come as soon as that is there. */
  readonly #channel = new SocketChannel(
    { write: (bytes) => this.#socket?.write(bytes) ?? 0 },
    {
      onRing: (slot) => this.listener?.onRing(slot),
      // The other end is the same build of this program.
      onMessage: (message) => this.listener?.onReport(message as HostReport),
    },
  );
  #isEnding = false;
  /** What was found out about the end before `onExit` came. */
  #errorText: string | undefined;
  #hasExited = false;

  async connect(child: Bun.Subprocess): Promise<void> {
    this.#child = child;
    const fd = child.stdio[HOST_SOCKET_FD];
    if (typeof fd !== "number") throw new Error("the child has no socket");
    this.#socket = await socketFromFd(fd, {
      data: (_socket, bytes) => this.#receive(bytes),
      drain: () => this.#channel.drained(),
      // A child that closed its socket is of no use, whether it still runs or not.
      close: () => this.#kill("it closed its socket"),
      error: (_socket, error) => this.#kill(error.message),
    });
    this.#channel.drained();
  }

  ring(slot: number): void {
    this.#channel.ring(slot);
  }

  send(command: HostCommand): void {
    this.#channel.send(command);
  }

  /** A child cannot be reached while it runs a batch. */
  cancel(): void {
    return;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#socket?.end();
    if (this.#child === undefined || this.#hasExited) return;
    const timer = setTimeout(() => this.#child?.kill("SIGKILL"), EXIT_GRACE_MS);
    await this.#child.exited;
    clearTimeout(timer);
  }

  childExited(exitCode: number | null, signal: number | string | null): void {
    this.#hasExited = true;
    this.#socket?.end();
    if (this.#isEnding) return;
    const how =
      signal === null ? `exited with status ${exitCode}` : `was ended by signal ${signal}`;
    const text = `its process ${how}${this.#errorText === undefined ? "" : ` (${this.#errorText})`}`;
    this.listener?.onClosed(new InferenceError("INTERNAL", text));
  }

  #receive(bytes: Uint8Array): void {
    try {
      this.#channel.receive(bytes);
    } catch (thrown) {
      this.#kill(`it sent what cannot be read: ${thrown}`);
    }
  }

  #kill(why: string): void {
    if (this.#isEnding || this.#hasExited) return;
    this.#errorText ??= why;
    this.#child?.kill("SIGKILL");
  }
}
