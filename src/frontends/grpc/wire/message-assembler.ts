import { InferenceError } from "../../../base/error.ts";
import { FRAME_PREFIX_BYTES } from "../codec/grpc-frame.ts";

/** Who gets the messages. */
export interface MessageReceiver {
  /** A whole message: a view of a received chunk, or a buffer of its own. */
  onMessage(message: Buffer): void;
  /** A message of this length has begun, and its end is not in the chunk in which it begins. */
  onLongMessage(messageBytes: number): void;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * Cuts gRPC messages out of the chunks of a request body. A message that lies in one chunk is handed on as a view of
 * it; a longer one is put together once, in a buffer of exactly its length.
 *
 * @see gRPC over HTTP/2, "Length-Prefixed-Message".
 */
export class MessageAssembler {
  readonly #receiver: MessageReceiver;
  readonly #maxMessageBytes: number;
  /** A prefix that was cut off by the end of a chunk; at most 4 bytes. */
  #prefixStart = NO_BYTES;
  #message: Buffer | undefined;
  #filledBytes = 0;

  constructor(receiver: MessageReceiver, maxMessageBytes: number) {
    this.#receiver = receiver;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** True in the middle of a message: the body must not end here. */
  get isIncomplete(): boolean {
    return this.#message !== undefined || this.#prefixStart.length > 0;
  }

  /**
   * Takes the next chunk of the body.
   *
   * @throws InferenceError INTERNAL, gRPC's status for it, for compressed messages (calls that name their encoding take
   *   another way) and unknown flags; MessageTooLongError above the limit.
   */
  feed(chunk: Buffer): void {
    let rest = chunk;
    if (this.#message) rest = this.#fill(this.#message, rest);
    if (this.#prefixStart.length > 0 && rest.length > 0) {
      rest = Buffer.concat([this.#prefixStart, rest]);
      this.#prefixStart = NO_BYTES;
    }
    while (rest.length >= FRAME_PREFIX_BYTES) rest = this.#begin(rest);
    if (rest.length > 0) this.#prefixStart = rest;
  }

  /** Begins with a prefix. @returns what is behind the message, nothing when it goes on in later chunks. */
  #begin(bytes: Buffer): Buffer {
    if (bytes[0] !== 0) refuseFlag(bytes[0]);
    const messageBytes = bytes.readUInt32BE(1);
    if (messageBytes > this.#maxMessageBytes) {
      throw new MessageTooLongError(messageBytes, this.#maxMessageBytes);
    }
    const end = FRAME_PREFIX_BYTES + messageBytes;
    if (bytes.length >= end) {
      this.#receiver.onMessage(bytes.subarray(FRAME_PREFIX_BYTES, end));
      return bytes.length === end ? NO_BYTES : bytes.subarray(end);
    }
    this.#receiver.onLongMessage(messageBytes);
    const message = Buffer.allocUnsafeSlow(messageBytes);
    this.#message = message;
    this.#filledBytes = 0;
    return this.#fill(message, bytes.subarray(FRAME_PREFIX_BYTES));
  }

  #fill(message: Buffer, bytes: Buffer): Buffer {
    const takenBytes = Math.min(bytes.length, message.length - this.#filledBytes);
    message.set(
      takenBytes === bytes.length ? bytes : bytes.subarray(0, takenBytes),
      this.#filledBytes,
    );
    this.#filledBytes += takenBytes;
    if (this.#filledBytes < message.length) return NO_BYTES;
    this.#message = undefined;
    this.#receiver.onMessage(message);
    return bytes.subarray(takenBytes);
  }
}

/** A message above the limit; gRPC has a status of its own for it. */
export class MessageTooLongError extends InferenceError {
  constructor(messageBytes: number, maxMessageBytes: number) {
    super(
      "INVALID_ARG",
      `request message of ${messageBytes} bytes is longer than the allowed ${maxMessageBytes} bytes`,
    );
  }
}

function refuseFlag(flag: number | undefined): never {
  const text =
    flag === 1
      ? "request message is compressed, but the call names no grpc-encoding"
      : `request message begins with the flag ${flag}, expected 0 or 1`;
  throw new InferenceError("INTERNAL", text);
}
