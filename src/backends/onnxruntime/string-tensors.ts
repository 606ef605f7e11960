import { addressOf, WordArray } from "#ffi/memory.ts";
import type { OrtApi } from "#ffi/onnxruntime/api.ts";
import { Value } from "#ffi/onnxruntime/value.ts";
import { InferenceError } from "../../base/error.ts";
import { elementCount, type Shape } from "../../base/shape.ts";

/** Bytes of the length before each element of a BYTES tensor. */
const LENGTH_BYTES = 4;

/** A BYTES tensor in a slab: each element a little-endian uint32 length and that many bytes. */
export interface BytesTensor {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Of `bytes`. */
  readonly address: number;
}

/**
 * A string tensor with the elements of a BYTES tensor, NULs and all.
 *
 * @param shape as the graph has it.
 * @returns a value of its own, for the caller to dispose.
 * @throws InferenceError INVALID_ARG where the bytes do not make that many elements. Requests were checked before; this
 *   keeps a mistake from reading foreign memory.
 */
export function stringValue(api: OrtApi, tensor: BytesTensor, shape: Shape): Value {
  const { bytes } = tensor;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = elementCount(shape);
  const value = Value.strings(api, shape);
  try {
    let offset = 0;
    for (let i = 0; i < count; i++) {
      if (offset + LENGTH_BYTES > bytes.byteLength) throw incomplete(tensor, i, count);
      const length = view.getUint32(offset, true);
      offset += LENGTH_BYTES;
      if (offset + length > bytes.byteLength) throw incomplete(tensor, i, count);
      if (length > 0) value.setString(i, tensor.address + offset, length);
      offset += length;
    }
    if (offset !== bytes.byteLength) {
      throw new InferenceError(
        "INVALID_ARG",
        `input '${tensor.name}' has ${bytes.byteLength - offset} bytes beyond its ${count} elements`,
      );
    }
    return value;
  } catch (error) {
    value[Symbol.dispose]();
    throw error;
  }
}

function incomplete({ name, bytes }: BytesTensor, index: number, count: number): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `input '${name}' ends within element ${index} of ${count}, after ${bytes.byteLength} bytes`,
  );
}

/** Strings of an output, taken out of onnxruntime and ready to be written. */
export interface StringElements {
  /** All strings, one behind the other. */
  readonly content: Uint8Array;
  /** Where each begins in `content`. */
  readonly starts: readonly number[];
  /** Room that they take as a BYTES tensor. */
  readonly byteLength: number;
}

/** @throws NativeError when the value is no string tensor. */
export function stringElementsOf(value: Value, count: number): StringElements {
  const contentBytes = value.stringBytes();
  // A place for the bytes is needed even when there are none.
  const content = new Uint8Array(new ArrayBuffer(Math.max(1, contentBytes)));
  const offsets = new WordArray(count);
  if (count > 0) {
    value.copyStrings({ address: addressOf(content), byteLength: contentBytes }, offsets);
  }
  return {
    content: content.subarray(0, contentBytes),
    starts: offsets.take(count),
    byteLength: contentBytes + count * LENGTH_BYTES,
  };
}

/** Writes a BYTES tensor. @param target exactly `byteLength` bytes. */
export function writeStringElements({ content, starts }: StringElements, target: Uint8Array): void {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  let offset = 0;
  for (let i = 0; i < starts.length; i++) {
    const element = content.subarray(starts[i], starts[i + 1] ?? content.byteLength);
    view.setUint32(offset, element.byteLength, true);
    target.set(element, offset + LENGTH_BYTES);
    offset += LENGTH_BYTES + element.byteLength;
  }
}
