import type { Datatype } from "../../../base/datatype.ts";
import { elementBytesOf } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import type { Tensor } from "../../../core/tensor/tensor.ts";
import type { ByteWriter } from "./byte-writer.ts";

const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;

/** Bytes of the longest decimal form of a 32-bit integer, its sign and a comma. */
const MAX_INT32_TEXT_BYTES = 12;

/** The same bytes at an offset that is aligned for their elements: a copy only where they are not. */
function aligned(bytes: Uint8Array, elementBytes: number): Uint8Array {
  return bytes.byteOffset % elementBytes === 0 ? bytes : new Uint8Array(bytes);
}

/**
 * Writes a tensor's elements as a flat JSON list without its brackets, row-major. Integers are exact up to 64 bits.
 * Floats are printed as Triton prints them: FP32 widened to double, the fewest digits that read back to it, always
 * with a fraction or exponent; NaN and the infinities bare.
 *
 * @returns the number of elements written.
 * @throws InferenceError INVALID_ARG for FP16 and BF16, INTERNAL for BYTES cut short.
 */
export function writeJsonElements(writer: ByteWriter, tensor: Tensor): number {
  const { datatype } = tensor;
  const elementBytes = elementBytesOf(datatype);
  const bytes = elementBytes > 1 ? aligned(tensor.bytes, elementBytes) : tensor.bytes;
  const count = elementBytes > 0 ? Math.floor(bytes.byteLength / elementBytes) : 0;
  const { buffer, byteOffset } = bytes;
  switch (datatype) {
    case "BOOL":
      return writeBooleans(writer, bytes);
    case "UINT8":
      return writeIntegers(writer, bytes);
    case "INT8":
      return writeIntegers(writer, new Int8Array(buffer, byteOffset, count));
    case "UINT16":
      return writeIntegers(writer, new Uint16Array(buffer, byteOffset, count));
    case "INT16":
      return writeIntegers(writer, new Int16Array(buffer, byteOffset, count));
    case "UINT32":
      return writeIntegers(writer, new Uint32Array(buffer, byteOffset, count));
    case "INT32":
      return writeIntegers(writer, new Int32Array(buffer, byteOffset, count));
    case "UINT64":
      return writeLongs(writer, new BigUint64Array(buffer, byteOffset, count));
    case "INT64":
      return writeLongs(writer, new BigInt64Array(buffer, byteOffset, count));
    case "FP32":
      return writeFloats(writer, new Float32Array(buffer, byteOffset, count));
    case "FP64":
      return writeFloats(writer, new Float64Array(buffer, byteOffset, count));
    case "BYTES":
      return writeStrings(writer, tensor);
    case "FP16":
    case "BF16":
      throw unsendable(datatype, tensor.name);
  }
}

function unsendable(datatype: Datatype, outputName: string): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `sending ${datatype} data via JSON is not supported. Please use the binary data format for output ${outputName}`,
  );
}

function writeBooleans(writer: ByteWriter, values: Uint8Array): number {
  for (let i = 0; i < values.length; i++) {
    if (i > 0) writer.byte(COMMA);
    writer.ascii(values[i] === 0 ? "false" : "true");
  }
  return values.length;
}

function writeIntegers(
  writer: ByteWriter,
  values: Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array,
): number {
  writer.reserve(values.length * 4);
  for (let i = 0; i < values.length; i++) {
    if (i > 0) writer.byte(COMMA);
    writeInteger(writer, values[i] as number);
  }
  return values.length;
}

/** Decimal digits of an integer of at most 32 bits, without a string in between. */
function writeInteger(writer: ByteWriter, value: number): void {
  writer.reserve(MAX_INT32_TEXT_BYTES);
  const { bytes } = writer;
  let rest = value;
  if (rest < 0) {
    bytes[writer.length++] = MINUS;
    rest = -rest;
  }
  let digitCount = 1;
  for (let limit = 10; limit <= rest; limit *= 10) digitCount++;
  for (let at = writer.length + digitCount - 1; at >= writer.length; at--) {
    const tenth = Math.floor(rest / 10);
    bytes[at] = ZERO + (rest - tenth * 10);
    rest = tenth;
  }
  writer.length += digitCount;
}

function writeLongs(writer: ByteWriter, values: BigInt64Array | BigUint64Array): number {
  for (let i = 0; i < values.length; i++) {
    if (i > 0) writer.byte(COMMA);
    writer.ascii(String(values[i]));
  }
  return values.length;
}

function writeFloats(writer: ByteWriter, values: Float32Array | Float64Array): number {
  writer.reserve(values.length * 6);
  for (let i = 0; i < values.length; i++) {
    if (i > 0) writer.byte(COMMA);
    writer.ascii(floatText(values[i] as number));
  }
  return values.length;
}

/** A double as Triton's JSON writer prints it: `1.0`, `0.1`, `1e-7`, `1e21`, `-0.0`, `NaN`, `-Infinity`. */
export function floatText(value: number): string {
  if (Number.isInteger(value)) {
    if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
    const text = String(value);
    // From 1e21 on JavaScript uses an exponent, with a plus sign that Triton leaves out.
    return text.includes("e") ? text.replace("+", "") : `${text}.0`;
  }
  return String(value);
}

function writeStrings(writer: ByteWriter, tensor: Tensor): number {
  const { bytes } = tensor;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let count = 0;
  for (let at = 0; at < bytes.byteLength; count++) {
    const end = at + 4 <= bytes.byteLength ? at + 4 + view.getUint32(at, true) : Number.NaN;
    if (!(end <= bytes.byteLength)) {
      throw new InferenceError(
        "INTERNAL",
        `output '${tensor.name}': BYTES element ${count} is cut short at byte ${at} of ${bytes.byteLength}`,
      );
    }
    if (count > 0) writer.byte(COMMA);
    writer.jsonStringOfBytes(bytes.subarray(at + 4, end));
    at = end;
  }
  return count;
}
