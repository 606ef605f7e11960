import type { Datatype } from "../../src/base/datatype.ts";
import type { Tensor } from "../../src/core/tensor/tensor.ts";
import { unpackBytes } from "./sample-models.ts";

/** One element of a tensor; BYTES as text, 64-bit integers as bigint. */
export type Element = number | bigint | boolean | string;

const ARRAYS = {
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const;

function arrayClass(datatype: Datatype): (typeof ARRAYS)[keyof typeof ARRAYS] {
  const found = Object.entries(ARRAYS).find(([name]) => name === datatype)?.[1];
  if (found === undefined) throw new Error(`${datatype} has no array of numbers`);
  return found;
}

/** The elements of a tensor. @throws Error for FP16 and BF16. */
export function elementsOf({ datatype, bytes }: Tensor): Element[] {
  const { buffer } = Uint8Array.from(bytes);
  if (datatype === "BOOL") return [...bytes].map((byte) => byte !== 0);
  if (datatype === "BYTES")
    return unpackBytes(bytes).map((element) => new TextDecoder().decode(element));
  if (datatype === "INT64") return [...new BigInt64Array(buffer)];
  if (datatype === "UINT64") return [...new BigUint64Array(buffer)];
  return [...new (arrayClass(datatype))(buffer)];
}

/** Elements as numbers. */
export function numbersOf(elements: readonly Element[]): number[] {
  return elements.map(Number);
}

/** The raw bytes of elements; not for BYTES. @throws Error for FP16 and BF16. */
export function typedArrayOf(datatype: Datatype, elements: readonly Element[]): Uint8Array {
  if (datatype === "BOOL") return Uint8Array.from(elements, Number);
  const bigints = () => elements.map((element) => BigInt(Number(element)));
  if (datatype === "INT64") return new Uint8Array(BigInt64Array.from(bigints()).buffer);
  if (datatype === "UINT64") return new Uint8Array(BigUint64Array.from(bigints()).buffer);
  return new Uint8Array(new (arrayClass(datatype))(numbersOf(elements)).buffer);
}
