/**
 * Frames between the server and a Python process: two little-endian uint32 lengths, a JSON text, a tail of raw bytes.
 * Tensors up to {@link INLINE_LIMIT_BYTES} travel in the tail, larger ones in memory that one side fills and the
 * other maps.
 */

/** Tensors up to this size travel in the frame; the same number stands in the stub's `tribune_channel.py`. */
export const INLINE_LIMIT_BYTES = 16 * 1024;

/** Bytes before the JSON text. */
export const FRAME_HEADER_BYTES = 8;

/** A frame is refused above this size: lengths that large are noise on the socket, not a message. */
const MAX_FRAME_BYTES = 0x7fff_ffff;

const decoder = new TextDecoder();

/** A message that came in. */
export interface Frame {
  readonly message: Readonly<Record<string, unknown>>;
  /** A buffer of its own: views of it stay intact after the next frame. */
  readonly tail: Uint8Array;
}

const NO_TAIL = new Uint8Array(0);

/** A frame around a JSON text and pieces of raw bytes, as one buffer. */
export function encodeFrame(text: string, pieces: readonly Uint8Array[] = []): Uint8Array {
  let tailBytes = 0;
  for (const piece of pieces) tailBytes += piece.length;
  // UTF-8 needs at most three bytes for a UTF-16 unit.
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + text.length * 3 + tailBytes);
  const textBytes = frame.write(text, FRAME_HEADER_BYTES, "utf8");
  frame.writeUInt32LE(textBytes, 0);
  frame.writeUInt32LE(tailBytes, 4);
  let at = FRAME_HEADER_BYTES + textBytes;
  for (const piece of pieces) {
    frame.set(piece, at);
    at += piece.length;
  }
  return frame.subarray(0, at);
}

/** Cuts the bytes of a socket into frames. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  /** The frame being gathered; its first bytes are the header. */
  #gathered: Uint8Array = new Uint8Array(0);
  #gatheredBytes = 0;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  /** @throws Error when the bytes are no frames; the connection is then of no use. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#gatheredBytes === 0 && chunk.length - at >= FRAME_HEADER_BYTES) {
        const frameBytes = frameLength(chunk, at);
        if (chunk.length - at >= frameBytes) {
          this.#emit(chunk.subarray(at, at + frameBytes));
          at += frameBytes;
          continue;
        }
      }
      at += this.#gather(chunk.subarray(at));
    }
  }

  #gather(chunk: Uint8Array): number {
    const wantedBytes =
      this.#gatheredBytes < FRAME_HEADER_BYTES
        ? FRAME_HEADER_BYTES
        : frameLength(this.#gathered, 0);
    if (this.#gathered.length < wantedBytes) {
      const larger = new Uint8Array(wantedBytes);
      larger.set(this.#gathered.subarray(0, this.#gatheredBytes));
      this.#gathered = larger;
    }
    const takenBytes = Math.min(chunk.length, wantedBytes - this.#gatheredBytes);
    this.#gathered.set(chunk.subarray(0, takenBytes), this.#gatheredBytes);
    this.#gatheredBytes += takenBytes;
    if (
      this.#gatheredBytes >= FRAME_HEADER_BYTES &&
      this.#gatheredBytes === frameLength(this.#gathered, 0)
    ) {
      const whole = this.#gathered.subarray(0, this.#gatheredBytes);
      this.#gathered = new Uint8Array(0);
      this.#gatheredBytes = 0;
      this.#emit(whole);
    }
    return takenBytes;
  }

  #emit(whole: Uint8Array): void {
    const tailBytes = readUint32(whole, 4);
    const textEnd = whole.length - tailBytes;
    const text = decoder.decode(whole.subarray(FRAME_HEADER_BYTES, textEnd));
    // The chunk belongs to the socket, which uses it again.
    const tail = tailBytes === 0 ? NO_TAIL : whole.slice(textEnd);
    this.#onFrame({ message: JSON.parse(text) as Frame["message"], tail });
  }
}

function frameLength(bytes: Uint8Array, at: number): number {
  const length = FRAME_HEADER_BYTES + readUint32(bytes, at) + readUint32(bytes, at + 4);
  if (length > MAX_FRAME_BYTES) {
    throw new Error(`a frame of ${length} bytes is above the limit of ${MAX_FRAME_BYTES}`);
  }
  return length;
}

function readUint32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24)) >>>
    0
  );
}
