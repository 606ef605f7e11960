import { Duplex } from "node:stream";

/** What is asked of a TCP connection of Bun. */
export interface ByteConnection {
  readonly remoteAddress: string;
  /** @returns bytes that the system has taken; −1 when the connection has gone. */
  write(bytes: Uint8Array): number;
  /** Ends our half once everything is sent. */
  end(): void;
  /** Closes at once. */
  terminate(): void;
}

/** Bytes that are sent at once rather than at the end of the turn: longer batches would only be copied. */
const SEND_AT_BYTES = 64 * 1024;
/** Unsent bytes above which the session is told to wait. */
const HIGH_WATER_BYTES = 256 * 1024;
/** A client gets so long to close its half after ours. */
const LINGER_MS = 5000;

/** One for all sockets: chunks are put together in it and sent before anybody else's turn. */
const batch = Buffer.allocUnsafeSlow(2 * SEND_AT_BYTES);

/**
 * A TCP connection for an HTTP/2 session of node:http2, which gathers what the session writes during one turn of the
 * event loop and sends it with one system call. On a socket of node's own the session makes one for every answer; at 8
 * calls in flight that was a third of the CPU of a call.
 *
 * A session uses little of a Duplex: chunks without callbacks and encodings. `write` and `end` are made for that.
 */
export class BatchingSocket extends Duplex {
  /** Asked for by sessions; a socket that is handed to one is connected. */
  readonly connecting = false;
  readonly remoteAddress: string;
  /**
   * Sessions of Bun look for it: with one they go on with a stream in the same turn as its data are written, without
   * one only in the next, and trailers would leave alone.
   */
  protected readonly _handle = {};
  readonly #connection: ByteConnection;
  #chunks: Uint8Array[] = [];
  #unsentBytes = 0;
  #bytesWritten = 0;
  /** The system takes no more for now; {@link onDrain} will tell. */
  #isBlocked = false;
  /** The session waits for our "drain". */
  #isSessionWaiting = false;
  #isSendDue = false;
  #isEnding = false;
  #hasGone = false;
  #lingerTimer: Timer | undefined;

  constructor(connection: ByteConnection) {
    super({ autoDestroy: false });
    this.#connection = connection;
    this.remoteAddress = connection.remoteAddress;
  }

  /** Bytes that the session has written. */
  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  /** Chunks come by {@link onData}; flow control is the session's. */
  override _read(): void {
    return;
  }

  /** @returns false when the session is to wait for "drain". */
  override write(chunk: Uint8Array): boolean {
    if (this.#isEnding) return true;
    this.#chunks.push(chunk);
    this.#unsentBytes += chunk.length;
    this.#bytesWritten += chunk.length;
    if (this.#unsentBytes >= SEND_AT_BYTES) this.#send();
    else if (!this.#isSendDue) {
      this.#isSendDue = true;
      // The streams that are finished in this turn have their ticks before this one.
      process.nextTick(this.#sendWhenDue);
    }
    this.#isSessionWaiting = this.#unsentBytes > HIGH_WATER_BYTES;
    return !this.#isSessionWaiting;
  }

  /** Sends what is left and closes. @param whenEnded is called soon; what is left is sent in any case. */
  override end(whenEnded?: unknown): this {
    this.#finish();
    if (typeof whenEnded === "function") queueMicrotask(() => whenEnded());
    return this;
  }

  /** Bytes from the client; owned by the session from here. */
  onData(chunk: Buffer): void {
    if (!this.destroyed) this.emit("data", chunk);
  }

  /** The system takes bytes again. */
  onDrain(): void {
    this.#isBlocked = false;
    this.#send();
    if (!this.#isSessionWaiting || this.#unsentBytes > HIGH_WATER_BYTES) return;
    this.#isSessionWaiting = false;
    this.emit("drain");
  }

  /** The connection has gone. */
  onClose(): void {
    this.#hasGone = true;
    clearTimeout(this.#lingerTimer);
    this.#chunks = [];
    this.destroy();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // A GOAWAY may be among what is left; closing at once would take it from the client.
    this.#finish();
    callback(error);
  }

  #finish(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (this.#hasGone) return;
    this.#lingerTimer = setTimeout(() => this.#connection.terminate(), LINGER_MS);
    this.#lingerTimer.unref();
    this.#send();
  }

  readonly #sendWhenDue = (): void => {
    this.#isSendDue = false;
    this.#send();
  };

  #send(): void {
    if (this.#hasGone) return;
    while (this.#chunks.length > 0 && !this.#isBlocked) {
      const bytes = this.#takeBatch();
      const sentBytes = Math.max(0, this.#connection.write(bytes));
      this.#unsentBytes -= sentBytes;
      if (sentBytes === bytes.length) continue;
      this.#isBlocked = true;
      const rest = bytes.subarray(sentBytes);
      // The batch is everybody's; a chunk of its own may stay as it is.
      this.#chunks.unshift(bytes.buffer === batch.buffer ? Uint8Array.from(rest) : rest);
    }
    if (this.#isEnding && this.#chunks.length === 0) this.#connection.end();
  }

  /** The next chunks as one, in the shared batch; one that stands alone or is long, as it is. */
  #takeBatch(): Uint8Array {
    const chunks = this.#chunks;
    const [first] = chunks;
    if (first !== undefined && (chunks.length === 1 || first.length > SEND_AT_BYTES)) {
      chunks.shift();
      return first;
    }
    let at = 0;
    let takenCount = 0;
    for (const chunk of chunks) {
      if (at + chunk.length > batch.length) break;
      batch.set(chunk, at);
      at += chunk.length;
      takenCount++;
    }
    this.#chunks = takenCount === chunks.length ? [] : chunks.slice(takenCount);
    return batch.subarray(0, at);
  }
}
