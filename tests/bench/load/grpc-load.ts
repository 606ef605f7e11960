import type { Socket } from "bun";
import { requestHeaderBlocks } from "./hpack-request-block.ts";

/** What {@link runGrpcLoad} sends, and how much of it at once. */
export interface GrpcLoadOptions {
  readonly hostname?: string;
  readonly port: number;
  /** Full method, for example `/inference.GRPCInferenceService/ModelInfer`. */
  readonly path: string;
  /** The serialised request message, without the 5-byte gRPC prefix. */
  readonly message: Uint8Array;
  /** Calls in flight, over all connections. */
  readonly concurrency: number;
  /** perf_analyzer gives six clients one channel; undefined does the same. */
  readonly connectionCount?: number;
  readonly requestCount: number;
  /** Data bytes of a good answer, 5-byte prefix included; an answer with none counts as failed. undefined = any. */
  readonly expectedAnswerBytes?: number;
}

/** Outcome of one run. */
export interface GrpcLoadResult {
  readonly completedCount: number;
  readonly failedCount: number;
  readonly elapsedNs: number;
  /** Sorted, in microseconds, one per completed call. */
  readonly latenciesMicroseconds: Float64Array;
}

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEADER_BYTES = 9;
const MAX_FRAME_BYTES = 16384;
const DEFAULT_WINDOW_BYTES = 65535;
const OWN_WINDOW_BYTES = 0x7fffffff;
const FRAME = { data: 0, headers: 1, rst: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 };
const FLAG = { endStream: 1, ack: 1, endHeaders: 4 };
const SETTING_INITIAL_WINDOW = 4;
const CLIENTS_PER_CHANNEL = 6;

function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, (payload.length << 8) | type);
  bytes[4] = flags;
  view.setUint32(5, streamId);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

/** A call waiting for its answer, or for window to send the rest of its message. */
interface Call {
  readonly startNs: number;
  sentBytes: number;
  windowBytes: number;
  answerBytes: number;
}

interface Run {
  readonly options: GrpcLoadOptions;
  readonly body: Uint8Array;
  readonly blocks: ReturnType<typeof requestHeaderBlocks>;
  readonly latencies: Float64Array;
  startedCount: number;
  completedCount: number;
  failedCount: number;
  finish(error?: Error): void;
}

/** One HTTP/2 connection that keeps a fixed number of calls in flight. Reads only what a load run needs to know. */
class LoadConnection {
  readonly #run: Run;
  readonly #calls = new Map<number, Call>();
  #socket: Socket<undefined> | undefined;
  #pending = new Uint8Array(0);
  #nextStreamId = 1;
  #windowBytes = DEFAULT_WINDOW_BYTES;
  #initialWindowBytes = DEFAULT_WINDOW_BYTES;
  #unacknowledgedBytes = 0;
  #unsent: Uint8Array[] = [];
  /** What one turn wants to send, so that a turn costs one system call. */
  #outgoing: Uint8Array[] = [];

  constructor(run: Run) {
    this.#run = run;
  }

  async open(callCount: number): Promise<void> {
    const { hostname = "127.0.0.1", port } = this.#run.options;
    this.#socket = await Bun.connect({
      hostname,
      port,
      socket: {
        data: (_, chunk) => this.#onData(chunk),
        drain: () => this.#write([]),
        close: () => this.#run.finish(new Error("the server closed a connection")),
        error: (_, error) => this.#run.finish(error),
      },
    });
    const settings = new Uint8Array(6);
    settings[1] = SETTING_INITIAL_WINDOW;
    settings.set(uint32(OWN_WINDOW_BYTES), 2);
    this.#outgoing.push(
      new TextEncoder().encode(PREFACE),
      frame(FRAME.settings, 0, 0, settings),
      frame(FRAME.windowUpdate, 0, 0, uint32(OWN_WINDOW_BYTES - DEFAULT_WINDOW_BYTES)),
    );
    for (let i = 0; i < callCount; i++) this.#startCall();
    this.#flush();
  }

  close(): void {
    this.#socket?.terminate();
  }

  #startCall(): void {
    const run = this.#run;
    if (run.startedCount === run.options.requestCount) return;
    run.startedCount++;
    const streamId = this.#nextStreamId;
    this.#nextStreamId += 2;
    const call: Call = {
      startNs: Bun.nanoseconds(),
      sentBytes: 0,
      windowBytes: this.#initialWindowBytes,
      answerBytes: 0,
    };
    this.#calls.set(streamId, call);
    const block = streamId === 1 ? run.blocks.first : run.blocks.later;
    this.#outgoing.push(frame(FRAME.headers, FLAG.endHeaders, streamId, block));
    this.#sendBody(streamId, call);
  }

  #sendBody(streamId: number, call: Call): void {
    const { body } = this.#run;
    while (call.sentBytes < body.length) {
      const room = Math.min(MAX_FRAME_BYTES, this.#windowBytes, call.windowBytes);
      if (room <= 0) return;
      const part = body.subarray(call.sentBytes, call.sentBytes + room);
      call.sentBytes += part.length;
      call.windowBytes -= part.length;
      this.#windowBytes -= part.length;
      const flags = call.sentBytes === body.length ? FLAG.endStream : 0;
      this.#outgoing.push(frame(FRAME.data, flags, streamId, part));
    }
  }

  #onData(chunk: Uint8Array): void {
    let bytes = chunk;
    if (this.#pending.length > 0) {
      bytes = new Uint8Array(this.#pending.length + chunk.length);
      bytes.set(this.#pending);
      bytes.set(chunk, this.#pending.length);
    }
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
      const end = at + FRAME_HEADER_BYTES + length;
      if (end > bytes.length) break;
      this.#onFrame(bytes.subarray(at, end));
      at = end;
    }
    this.#pending = bytes.slice(at);
    this.#flush();
  }

  #onFrame(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const type = bytes[3];
    const flags = bytes[4] ?? 0;
    const streamId = view.getUint32(5) & 0x7fffffff;
    const payloadBytes = bytes.length - FRAME_HEADER_BYTES;
    if (type === FRAME.data || type === FRAME.headers) {
      const call = this.#calls.get(streamId);
      if (!call) return;
      if (type === FRAME.data) {
        call.answerBytes += payloadBytes;
        this.#unacknowledgedBytes += payloadBytes;
      }
      if (flags & FLAG.endStream) this.#endCall(streamId, call);
    } else if (type === FRAME.rst) {
      const call = this.#calls.get(streamId);
      if (call) this.#endCall(streamId, { ...call, answerBytes: 0 });
    } else if (type === FRAME.settings && !(flags & FLAG.ack)) {
      this.#onSettings(view);
    } else if (type === FRAME.ping && !(flags & FLAG.ack)) {
      this.#outgoing.push(frame(FRAME.ping, FLAG.ack, 0, bytes.slice(FRAME_HEADER_BYTES)));
    } else if (type === FRAME.windowUpdate) {
      this.#onWindow(streamId, view.getUint32(FRAME_HEADER_BYTES));
    } else if (type === FRAME.goaway) {
      this.#run.finish(new Error("the server sent GOAWAY"));
    }
  }

  #onSettings(view: DataView): void {
    for (let at = FRAME_HEADER_BYTES; at + 6 <= view.byteLength; at += 6) {
      if (view.getUint16(at) !== SETTING_INITIAL_WINDOW) continue;
      const value = view.getUint32(at + 2);
      for (const call of this.#calls.values()) call.windowBytes += value - this.#initialWindowBytes;
      this.#initialWindowBytes = value;
    }
    this.#outgoing.push(frame(FRAME.settings, FLAG.ack, 0, new Uint8Array(0)));
    this.#sendAll();
  }

  #onWindow(streamId: number, increment: number): void {
    if (streamId === 0) this.#windowBytes += increment;
    else {
      const call = this.#calls.get(streamId);
      if (call) call.windowBytes += increment;
    }
    this.#sendAll();
  }

  #sendAll(): void {
    for (const [streamId, call] of this.#calls) this.#sendBody(streamId, call);
  }

  #endCall(streamId: number, call: Call): void {
    const run = this.#run;
    this.#calls.delete(streamId);
    const expected = run.options.expectedAnswerBytes;
    if (expected === undefined ? call.answerBytes === 0 : call.answerBytes !== expected) {
      run.failedCount++;
    }
    run.latencies[run.completedCount++] = (Bun.nanoseconds() - call.startNs) / 1000;
    if (run.completedCount === run.options.requestCount) run.finish();
    else this.#startCall();
  }

  #flush(): void {
    if (this.#unacknowledgedBytes > OWN_WINDOW_BYTES / 2) {
      const update = frame(FRAME.windowUpdate, 0, 0, uint32(this.#unacknowledgedBytes));
      this.#outgoing.push(update);
      this.#unacknowledgedBytes = 0;
    }
    if (this.#outgoing.length === 0) return;
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    this.#write(outgoing);
  }

  #write(frames: readonly Uint8Array[]): void {
    this.#unsent.push(...frames);
    const socket = this.#socket;
    if (!socket || this.#unsent.length === 0) return;
    const bytes = this.#unsent.length === 1 ? this.#unsent[0] : Buffer.concat(this.#unsent);
    if (!bytes) return;
    const written = Math.max(socket.write(bytes), 0);
    this.#unsent = written < bytes.length ? [bytes.subarray(written)] : [];
  }
}

/**
 * Sends `requestCount` equal gRPC calls and keeps `concurrency` of them in flight. Knows just enough HTTP/2 for that,
 * so that it costs the machine a few microseconds a call and the server under test keeps the rest.
 *
 * @throws Error when a connection breaks before all calls have ended.
 */
export async function runGrpcLoad(options: GrpcLoadOptions): Promise<GrpcLoadResult> {
  const { message, concurrency, requestCount } = options;
  const body = new Uint8Array(5 + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, 5);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const run: Run = {
    options,
    body,
    blocks: requestHeaderBlocks(options.path),
    latencies: new Float64Array(requestCount),
    startedCount: 0,
    completedCount: 0,
    failedCount: 0,
    finish: (error) => (error ? reject(error) : resolve()),
  };
  const connectionCount = Math.min(
    concurrency,
    options.connectionCount ?? Math.ceil(concurrency / CLIENTS_PER_CHANNEL),
  );
  const connections = Array.from({ length: connectionCount }, () => new LoadConnection(run));
  const startNs = Bun.nanoseconds();
  try {
    await Promise.all(
      connections.map((connection, i) =>
        connection.open(
          Math.floor(concurrency / connectionCount) + (i < concurrency % connectionCount ? 1 : 0),
        ),
      ),
    );
    await promise;
  } finally {
    for (const connection of connections) connection.close();
  }
  return {
    completedCount: run.completedCount,
    failedCount: run.failedCount,
    elapsedNs: Bun.nanoseconds() - startNs,
    latenciesMicroseconds: run.latencies.sort(),
  };
}
