import { InferenceError } from "../../base/error.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import { requestPrefix } from "../request/request-prefix.ts";
import type { ValidatedSignature } from "../request/request-signature.ts";

/** Bytes of the length before each BYTES element. */
const LENGTH_BYTES = 4;

/**
 * The checks that depend on a request's bytes and so cannot be remembered with its signature: the length of each
 * input, and for BYTES that the elements' lengths add up.
 *
 * @throws InferenceError INVALID_ARG with Triton's texts.
 */
export function checkInputBytes(
  request: InferenceRequest,
  validated: ValidatedSignature,
  modelName: string,
): void {
  const expectedBytes = validated.expectedBytes;
  for (let i = 0; i < expectedBytes.length; i++) {
    const bytes = request.inputBytes[i];
    const expected = expectedBytes[i];
    // The usual way out of this loop: a tensor of fixed-size elements with the right length.
    if (bytes?.length === expected) continue;
    const name = request.signature.inputs[i]?.name ?? "";
    if (bytes === undefined || expected === undefined) {
      throw refusal(request, `input '${name}' has no data for model '${modelName}'`);
    }
    if (expected >= 0) {
      throw refusal(
        request,
        `input byte size mismatch for input '${name}' for model '${modelName}'. ` +
          `Expected ${expected}, got ${bytes.length}`,
      );
    }
    const fault = bytesElementsFault(bytes, validated.elementCounts[i] ?? 0, name, modelName);
    if (fault !== undefined) throw refusal(request, fault);
  }
}

function refusal(request: InferenceRequest, text: string): InferenceError {
  return new InferenceError("INVALID_ARG", requestPrefix(request.id) + text);
}

/**
 * Walks over the elements of a BYTES tensor: each a little-endian uint32 length and that many bytes.
 * @returns what is wrong; undefined where exactly `expectedCount` elements fill the bytes.
 */
function bytesElementsFault(
  bytes: Uint8Array,
  expectedCount: number,
  inputName: string,
  modelName: string,
): string | undefined {
  const where = `for inference input '${inputName}' for model '${modelName}'`;
  let count = 0;
  let offset = 0;
  while (offset < bytes.length) {
    if (count === expectedCount) {
      return `unexpected number of string elements ${count + 1} ${where}, expecting ${expectedCount}`;
    }
    if (bytes.length - offset < LENGTH_BYTES) {
      return (
        `incomplete string length indicator ${where}, expecting ${LENGTH_BYTES} bytes but only ` +
        `${bytes.length - offset} bytes available. ${tally(expectedCount, count)}`
      );
    }
    const length = readUint32(bytes, offset);
    offset += LENGTH_BYTES;
    if (length > bytes.length - offset) {
      return (
        `incomplete string data ${where}, expecting string of length ${length} but only ` +
        `${bytes.length - offset} bytes available. ${tally(expectedCount, count)}`
      );
    }
    offset += length;
    count++;
  }
  if (count === expectedCount) return undefined;
  return `expected ${expectedCount} string elements ${where}, got ${count}`;
}

function tally(expectedCount: number, count: number): string {
  return `Expecting ${expectedCount} string elements, got ${count}`;
}

function readUint32(bytes: Uint8Array, offset: number): number {
  const low = bytes[offset] ?? 0;
  const second = bytes[offset + 1] ?? 0;
  const third = bytes[offset + 2] ?? 0;
  const high = bytes[offset + 3] ?? 0;
  return ((high << 24) | (third << 16) | (second << 8) | low) >>> 0;
}
