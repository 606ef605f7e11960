import { InferenceError } from "../../../base/error.ts";

/** Bytes before each message: a flag (1 = compressed) and the length, big-endian. */
export const FRAME_PREFIX_BYTES = 5;

/** The longest message, as Triton's gRPC frontend and its clients have it. */
export const MAX_MESSAGE_BYTES = 0x7fffffff;

/**
 * A frame for a message of a known length, uncompressed; the message itself is for the caller to write.
 *
 * @throws InferenceError INTERNAL when it is longer than gRPC allows.
 * @see gRPC over HTTP/2, "Length-Prefixed-Message".
 */
export function frameOf(messageBytes: number): Buffer {
  if (messageBytes > MAX_MESSAGE_BYTES) {
    throw new InferenceError(
      "INTERNAL",
      `response of ${messageBytes} bytes is longer than a gRPC message may be (${MAX_MESSAGE_BYTES} bytes)`,
    );
  }
  const frame = Buffer.allocUnsafe(FRAME_PREFIX_BYTES + messageBytes);
  frame[0] = 0;
  frame.writeUInt32BE(messageBytes, 1);
  return frame;
}
