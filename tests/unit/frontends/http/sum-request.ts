/** Inputs of a good request to `add_sub`. */
export const A = Int32Array.from({ length: 16 }, (_, i) => i);
export const B = new Int32Array(16).fill(3);

/** The bytes of a typed array. */
export function bytesOf(values: ArrayBufferView): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** An input with JSON data. */
export function jsonInput(
  name: string,
  datatype: string,
  shape: readonly number[],
  data: readonly unknown[],
) {
  return { name, datatype, shape, data };
}

/** An input whose bytes are in the tail. */
export function blobInput(
  name: string,
  datatype: string,
  shape: readonly number[],
  byteLength: number,
) {
  return { name, datatype, shape, parameters: { binary_data_size: byteLength } };
}

/** A good request to `add_sub`, all JSON. */
export function sumRequest(extra: Readonly<Record<string, unknown>> = {}) {
  return {
    ...extra,
    inputs: [
      jsonInput("INPUT0", "INT32", [1, 16], [...A]),
      jsonInput("INPUT1", "INT32", [1, 16], [...B]),
    ],
  };
}

/** The same with a binary tail. */
export function sumBlobs(extra: Readonly<Record<string, unknown>> = {}) {
  const request = {
    ...extra,
    inputs: [blobInput("INPUT0", "INT32", [1, 16], 64), blobInput("INPUT1", "INT32", [1, 16], 64)],
  };
  return { request, blobs: [bytesOf(A), bytesOf(B)] };
}
