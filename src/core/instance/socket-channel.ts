/** Bit that makes the four bytes of a header a doorbell; otherwise they are the length of the JSON that follows. */
const DOORBELL_BIT = 0x80000000;
const HEADER_BYTES = 4;

/** More than any command or report; a larger length means that the stream is out of step. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/** The part of a socket that a channel writes to. */
export interface ByteSink {
  /** @returns bytes taken; the rest is to be offered again when the sink has drained. */
  write(bytes: Uint8Array): number;
}

/** What comes out of a {@link SocketChannel}. */
export interface ChannelListener {
  onRing(slot: number): void;
  onMessage(message: unknown): void;
}

/**
 * Doorbells and messages over a byte stream between two processes, in order. Each begins with four bytes, little
 * endian: a doorbell is the slot with the top bit set, a message is its length and then JSON. Byte arrays in messages
 * travel as base64.
 */
export class SocketChannel {
  readonly #sink: ByteSink;
  readonly #listener: ChannelListener;
  readonly #bell = Buffer.alloc(HEADER_BYTES);
  /** Received bytes that are no whole message yet. */
  #received: Buffer = Buffer.alloc(0);
  /** Bytes that the sink has not taken yet. */
  #unsent: Uint8Array[] = [];

  constructor(sink: ByteSink, listener: ChannelListener) {
    this.#sink = sink;
    this.#listener = listener;
  }

  ring(slot: number): void {
    this.#bell.writeUInt32LE((DOORBELL_BIT | slot) >>> 0);
    this.#write(this.#bell);
  }

  /** @param message plain data. */
  send(message: object): void {
    const json = Buffer.from(JSON.stringify(message, bytesToBase64));
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(json.length);
    this.#write(Buffer.concat([header, json]));
  }

  /** Call when the sink takes bytes again. */
  drained(): void {
    const waiting = this.#unsent;
    this.#unsent = [];
    for (const bytes of waiting) this.#write(bytes);
  }

  /**
   * Call with what was received; the bytes are not kept.
   * @throws Error when the stream is out of step.
   */
  receive(chunk: Uint8Array): void {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#received.length > 0) bytes = Buffer.concat([this.#received, bytes]);
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const header = bytes.readUInt32LE(at);
      if (header >= DOORBELL_BIT) {
        at += HEADER_BYTES;
        this.#listener.onRing(header - DOORBELL_BIT);
        continue;
      }
      if (header > MAX_MESSAGE_BYTES) throw new Error(`a message of ${header} bytes is announced`);
      const end = at + HEADER_BYTES + header;
      if (end > bytes.length) break;
      const json = bytes.toString("utf8", at + HEADER_BYTES, end);
      at = end;
      this.#listener.onMessage(JSON.parse(json, bytesFromBase64));
    }
    this.#received = Buffer.from(bytes.subarray(at));
  }

  #write(bytes: Uint8Array): void {
    if (this.#unsent.length > 0) {
      this.#unsent.push(new Uint8Array(bytes));
      return;
    }
    const taken = Math.max(0, this.#sink.write(bytes));
    if (taken < bytes.length) this.#unsent.push(new Uint8Array(bytes.subarray(taken)));
  }
}

const BASE64_KEY = "$base64";

function bytesToBase64(_key: string, value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  return { [BASE64_KEY]: Buffer.from(value).toString("base64") };
}

function bytesFromBase64(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !(BASE64_KEY in value)) return value;
  return new Uint8Array(Buffer.from(String(value[BASE64_KEY]), "base64"));
}
