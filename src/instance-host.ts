/**
 * Second composition root: the entry of Workers and of child processes that host instances. Brings together the
 * host's session, the line to the main thread, the memory it shares with it, and the catalog of backends.
 */
import { dieWithParent } from "#ffi/process-control.ts";
import { SharedSlabs } from "#ffi/shared-memory.ts";
import { NativeSlabs } from "#ffi/slab.ts";
import { backendFactory } from "./backends/catalog.ts";
import { SystemClock } from "./base/system-clock.ts";
import type { HostCommand, HostPort } from "./core/instance/host-link.ts";
import { HostSession } from "./core/instance/host-session.ts";
import { HOST_SOCKET_FD } from "./core/instance/process-home.ts";
import { SocketChannel } from "./core/instance/socket-channel.ts";
import { socketFromFd } from "./core/instance/socket-from-fd.ts";
import { WAKE, WorkerLineEnd } from "./core/instance/thread-line.ts";
import type { SlabAllocator } from "./core/memory/slab.ts";

function newSession(port: HostPort, slabs: SlabAllocator): HostSession {
  return new HostSession({
    port,
    slabs,
    clock: new SystemClock(),
    createBackend: async (name, logger, libraryPaths) =>
      (await backendFactory(name)).create(logger, libraryPaths),
  });
}

/** The main thread is the other end of `postMessage`; its first message is the line for the doorbells. */
function hostInWorker(): void {
  addEventListener(
    "message",
    ({ data }: MessageEvent<SharedArrayBuffer>) => listenToMainThread(data),
    { once: true },
  );
}

function listenToMainThread(buffer: SharedArrayBuffer): void {
  const line = new WorkerLineEnd(buffer, {
    wake: () => postMessage(WAKE),
    onRing: (slot) => session.ring(slot),
  });
  const port: HostPort = {
    ring: (slot) => line.ring(slot),
    enter: (slot) => line.enter(slot),
    leave: (slot) => line.leave(slot),
    send: (report) => {
      line.countSent();
      postMessage(report);
    },
  };
  const session = newSession(port, new NativeSlabs());
  addEventListener("message", ({ data }: MessageEvent<typeof WAKE | HostCommand>) => {
    if (data === WAKE) {
      line.drain();
      return;
    }
    void session.receive(data);
    line.countReceived();
  });
}

/** The server is the other end of a socket; when that closes, this process has no reason to be. */
async function hostInChildProcess(): Promise<void> {
  dieWithParent();
  // A terminal sends its signals to the whole group; the server drains first and then ends its children itself.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => undefined);
  let socket: Bun.Socket | undefined;
  const port: HostPort = {
    ring: (slot) => channel.ring(slot),
    enter: () => true,
    leave: () => undefined,
    send: (report) => channel.send(report),
  };
  const session = newSession(port, new SharedSlabs());
  // Made before the socket, because bytes may come as soon as that is there.
  const channel = new SocketChannel(
    { write: (bytes) => socket?.write(bytes) ?? 0 },
    {
      onRing: (slot) => session.ring(slot),
      // The other end is the same build of this program.
      onMessage: (message) => void session.receive(message as HostCommand),
    },
  );
  socket = await socketFromFd(HOST_SOCKET_FD, {
    data: (_socket, bytes) => channel.receive(bytes),
    drain: () => channel.drained(),
    close: () => process.exit(0),
    error: () => process.exit(1),
  });
  channel.drained();
}

if (Bun.isMainThread) await hostInChildProcess();
else hostInWorker();
