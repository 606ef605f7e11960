import { isUtf8 } from "node:buffer";
import type { Datatype } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import type { Shape } from "../../../base/shape.ts";
import { formatShape } from "../../../base/shape.ts";
import { latin1Text, utf8Text } from "./byte-text.ts";
import { ByteWriter } from "./byte-writer.ts";

/** A range of a body that holds a JSON array which a JsonReader has checked, and what it should become. */
export interface JsonTensorSource {
  readonly body: Uint8Array;
  /** Offset of the opening bracket. */
  readonly start: number;
  /** Offset behind the closing bracket. */
  readonly end: number;
  readonly inputName: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** Product of the shape. */
  readonly elementCount: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const DOT = 0x2e;

/** Digits that a double holds exactly whatever they are. */
const EXACT_DIGIT_COUNT = 15;
/** Powers of ten that are exact doubles: `m / 10^k` is then rounded once, as it must be. */
const EXACT_POWERS: readonly number[] = Array.from({ length: 23 }, (_, power) =>
  Number(`1e${power}`),
);

const INTEGER_RANGES: Readonly<Partial<Record<Datatype, readonly [min: bigint, max: bigint]>>> = {
  UINT8: [0n, 0xffn],
  UINT16: [0n, 0xffffn],
  UINT32: [0n, 0xffffffffn],
  UINT64: [0n, 0xffffffffffffffffn],
  INT8: [-0x80n, 0x7fn],
  INT16: [-0x8000n, 0x7fffn],
  INT32: [-0x80000000n, 0x7fffffffn],
  INT64: [-0x8000000000000000n, 0x7fffffffffffffffn],
};

type NumberArray =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Float32Array
  | Float64Array;

/** Walks over the elements of a checked array; brackets, commas and white space mean nothing to it. */
class ElementCursor {
  readonly source: JsonTensorSource;
  readonly body: Uint8Array;
  /** Offset of the element at hand after {@link next}. */
  at: number;
  /** Elements passed so far. */
  count = 0;

  constructor(source: JsonTensorSource) {
    this.source = source;
    this.at = source.start;
    this.body = source.body;
  }

  /** Moves on to the next element. @returns its first byte, or 0 at the end. */
  next(): number {
    const { body } = this;
    const { end } = this.source;
    let { at } = this;
    while (at < end) {
      const byte = body[at] as number;
      // Brackets (0x5b, 0x5d), the comma and white space; all else begins an element.
      if (byte > 0x20 && byte !== 0x2c && byte !== 0x5b && byte !== 0x5d) {
        this.at = at;
        return byte;
      }
      at++;
    }
    this.at = at;
    return 0;
  }

  /** Offset behind a number or literal that begins at `at`. */
  tokenEnd(): number {
    const { body } = this;
    const { end } = this.source;
    let { at } = this;
    while (at < end) {
      const byte = body[at] as number;
      if (byte <= 0x20 || byte === 0x2c || byte === 0x5d) break;
      at++;
    }
    return at;
  }

  tooMany(): never {
    const { source } = this;
    throw new InferenceError(
      "INVALID_ARG",
      `Unable to parse 'data': Shape does not match true shape of 'data' field: input '${source.inputName}' of shape ` +
        `${formatShape(source.shape)} expects ${source.elementCount} elements, got more`,
    );
  }

  finish(): void {
    const { source } = this;
    if (this.count === source.elementCount) return;
    throw new InferenceError(
      "INVALID_ARG",
      `Failed to parse 'data' field: shape does not match true shape: input '${source.inputName}' of shape ` +
        `${formatShape(source.shape)} expects ${source.elementCount} elements, got ${this.count}`,
    );
  }

  /** Refuses the element at hand. */
  refuse(expectation: string): never {
    const { source } = this;
    const first = this.body[this.at];
    const isShort = first !== QUOTE && first !== 0x7b;
    const seen = isShort
      ? latin1Text(this.body, this.at, Math.min(this.tokenEnd(), this.at + 40))
      : first === QUOTE
        ? "a string"
        : "an object";
    throw new InferenceError(
      "INVALID_ARG",
      `Unable to parse 'data': element ${this.count} of input '${source.inputName}' must be ${expectation} to be ${source.datatype}, got ${seen}`,
    );
  }
}

/**
 * Turns JSON tensor data, flat or nested in any way, into the bytes of the tensor (little-endian, row-major; BYTES
 * with their length prefixes). Only the number of elements is held against the shape.
 *
 * 64-bit integers are exact; integers outside the datatype's range are refused (Triton wraps them without a word).
 * Floats may be written as whole numbers and as NaN or the infinities.
 *
 * @throws InferenceError INVALID_ARG naming the input and the element.
 */
export function tensorBytesFromJson(source: JsonTensorSource): Uint8Array {
  if (source.elementCount === 0) return new Uint8Array(0);
  // Each element takes a character at least, so a shape that promises more than the text can hold ends here,
  // before anything is allocated for it.
  const { elementCount } = source;
  const cursor = new ElementCursor(source);
  if (elementCount > source.end - source.start) return countOnly(cursor);
  switch (source.datatype) {
    case "BOOL":
      return readBooleans(cursor);
    case "UINT8":
      return readIntegers(cursor, new Uint8Array(elementCount));
    case "INT8":
      return readIntegers(cursor, new Int8Array(elementCount));
    case "UINT16":
      return readIntegers(cursor, new Uint16Array(elementCount));
    case "INT16":
      return readIntegers(cursor, new Int16Array(elementCount));
    case "UINT32":
      return readIntegers(cursor, new Uint32Array(elementCount));
    case "INT32":
      return readIntegers(cursor, new Int32Array(elementCount));
    case "UINT64":
    case "INT64":
      return readLongs(cursor);
    case "FP32":
      return readFloats(cursor, new Float32Array(elementCount));
    case "FP64":
      return readFloats(cursor, new Float64Array(elementCount));
    case "BYTES":
      return readStrings(cursor);
    case "FP16":
    case "BF16":
      throw new InferenceError(
        "INVALID_ARG",
        `receiving ${source.datatype} data via JSON is not supported. Please use the binary data format for input ${source.inputName}`,
      );
  }
}

/** For shapes that cannot fit: finds the number for the error text. */
function countOnly(cursor: ElementCursor): never {
  for (let byte = cursor.next(); byte !== 0; byte = cursor.next()) {
    if (byte === QUOTE) cursor.at = stringEnd(cursor.body, cursor.at);
    else if (byte === 0x7b) cursor.refuse("a scalar");
    else cursor.at = cursor.tokenEnd();
    cursor.count++;
  }
  cursor.finish();
  throw new InferenceError("INTERNAL", "a JSON text held more elements than characters");
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function readBooleans(cursor: ElementCursor): Uint8Array {
  const { elementCount } = cursor.source;
  const out = new Uint8Array(elementCount);
  for (let byte = cursor.next(); byte !== 0; byte = cursor.next()) {
    if (cursor.count === elementCount) cursor.tooMany();
    if (byte !== 0x74 && byte !== 0x66) cursor.refuse("true or false");
    out[cursor.count++] = byte === 0x74 ? 1 : 0;
    cursor.at = cursor.tokenEnd();
  }
  cursor.finish();
  return out;
}

/**
 * The integer at the cursor, which is left behind it; NaN when it has more digits than a double is sure to hold
 * (the cursor then stays).
 */
function shortInteger(cursor: ElementCursor, first: number): number {
  const { body } = cursor;
  const isNegative = first === MINUS;
  const start = isNegative ? cursor.at + 1 : cursor.at;
  let at = start;
  let value = 0;
  let digit = (body[at] as number) - ZERO;
  while (digit >= 0 && digit <= 9) {
    value = value * 10 + digit;
    digit = (body[++at] ?? 0) - ZERO;
  }
  const after = body[at];
  const isWhole = after !== DOT && after !== 0x65 && after !== 0x45;
  if (at === start || !isWhole) cursor.refuse(`a whole number in ${rangeText(cursor)}`);
  if (at - start > EXACT_DIGIT_COUNT) return Number.NaN;
  cursor.at = at;
  return isNegative ? -value : value;
}

function rangeText(cursor: ElementCursor): string {
  const [min, max] = INTEGER_RANGES[cursor.source.datatype] ?? [0n, 0n];
  return `${min}..${max}`;
}

function readIntegers(cursor: ElementCursor, out: NumberArray): Uint8Array {
  const { elementCount, datatype } = cursor.source;
  const range = INTEGER_RANGES[datatype] ?? [0n, 0n];
  const min = Number(range[0]);
  const max = Number(range[1]);
  for (let byte = cursor.next(); byte !== 0; byte = cursor.next()) {
    if (cursor.count === elementCount) cursor.tooMany();
    const { at } = cursor;
    const value = shortInteger(cursor, byte);
    if (!(value >= min && value <= max)) {
      cursor.at = at;
      cursor.refuse(`a whole number in ${rangeText(cursor)}`);
    }
    out[cursor.count++] = value;
  }
  cursor.finish();
  return bytesOf(out);
}

/** INT64 and UINT64: two words each, so that short numbers need no BigInt. */
function readLongs(cursor: ElementCursor): Uint8Array {
  const { elementCount, datatype } = cursor.source;
  const [min, max] = INTEGER_RANGES[datatype] ?? [0n, 0n];
  const words = new Uint32Array(elementCount * 2);
  const longs = new BigUint64Array(words.buffer);
  for (let byte = cursor.next(); byte !== 0; byte = cursor.next()) {
    if (cursor.count === elementCount) cursor.tooMany();
    const { at } = cursor;
    const value = shortInteger(cursor, byte);
    const index = cursor.count;
    if (value >= 0) {
      words[index * 2] = value;
      words[index * 2 + 1] = value / 0x1_0000_0000;
    } else {
      // The text has as many digits as one cares to send; beyond 20 it is out of range for sure.
      const end = cursor.tokenEnd();
      const exact = Number.isNaN(value)
        ? end - at > 40
          ? max + 1n
          : BigInt(latin1Text(cursor.body, at, end))
        : BigInt(value);
      if (exact < min || exact > max) {
        cursor.at = at;
        cursor.refuse(`a whole number in ${rangeText(cursor)}`);
      }
      longs[index] = BigInt.asUintN(64, exact);
      cursor.at = end;
    }
    cursor.count++;
  }
  cursor.finish();
  return bytesOf(words);
}

function readFloats(cursor: ElementCursor, out: Float32Array | Float64Array): Uint8Array {
  const { elementCount } = cursor.source;
  for (let byte = cursor.next(); byte !== 0; byte = cursor.next()) {
    if (cursor.count === elementCount) cursor.tooMany();
    out[cursor.count++] = readFloat(cursor, byte);
  }
  cursor.finish();
  return bytesOf(out);
}

/** A float of up to 15 digits without exponent is read in place; all else goes through `Number`. */
function readFloat(cursor: ElementCursor, first: number): number {
  const { body } = cursor;
  const isNegative = first === MINUS;
  let at = isNegative ? cursor.at + 1 : cursor.at;
  const start = at;
  let mantissa = 0;
  let digitCount = 0;
  let decimalCount = -1;
  for (;;) {
    const byte = body[at] ?? 0;
    const digit = byte - ZERO;
    if (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit;
      digitCount++;
      if (decimalCount >= 0) decimalCount++;
    } else if (byte === DOT) {
      decimalCount = 0;
    } else {
      break;
    }
    at++;
  }
  const after = body[at];
  const isPlain = after !== 0x65 && after !== 0x45 && digitCount <= EXACT_DIGIT_COUNT;
  if (at > start && isPlain) {
    cursor.at = at;
    const value = decimalCount > 0 ? mantissa / (EXACT_POWERS[decimalCount] ?? 1) : mantissa;
    return isNegative ? -value : value;
  }
  const end = cursor.tokenEnd();
  const text = latin1Text(body, cursor.at, end);
  const value = nonFiniteValue(text) ?? (at > start ? Number(text) : undefined);
  if (value === undefined) return cursor.refuse("a number");
  cursor.at = end;
  return value;
}

function nonFiniteValue(text: string): number | undefined {
  switch (text) {
    case "NaN":
      return Number.NaN;
    case "Infinity":
    case "Inf":
      return Number.POSITIVE_INFINITY;
    case "-Infinity":
    case "-Inf":
      return Number.NEGATIVE_INFINITY;
    default:
      return undefined;
  }
}

/** Offset behind the string that begins at `at`. */
function stringEnd(body: Uint8Array, at: number): number {
  let end = at + 1;
  while (body[end] !== QUOTE) end += body[end] === BACKSLASH ? 2 : 1;
  return end + 1;
}

function readStrings(cursor: ElementCursor): Uint8Array {
  const { elementCount, inputName, start, end } = cursor.source;
  if (!isUtf8(cursor.body.subarray(start, end))) {
    throw new InferenceError(
      "INVALID_ARG",
      `Unable to parse 'data': input '${inputName}' holds strings that are not UTF-8. Please use the binary data format for them`,
    );
  }
  const writer = new ByteWriter(Math.max(64, end - start + 4 * elementCount));
  for (let byte = cursor.next(); byte !== 0; byte = cursor.next()) {
    if (cursor.count === elementCount) cursor.tooMany();
    if (byte !== QUOTE) cursor.refuse("a string");
    const behind = stringEnd(cursor.body, cursor.at);
    const lengthAt = writer.length;
    writer.reserve(4);
    writer.length += 4;
    appendContent(cursor, writer, behind - 1);
    writer.bytes.writeUInt32LE(writer.length - lengthAt - 4, lengthAt);
    cursor.at = behind;
    cursor.count++;
  }
  cursor.finish();
  return writer.written();
}

/** Bytes of the string at the cursor, whose closing quote is at `quoteAt`, without its escapes. */
function appendContent(cursor: ElementCursor, writer: ByteWriter, quoteAt: number): void {
  const start = cursor.at + 1;
  const content = cursor.body.subarray(start, quoteAt);
  if (!content.includes(BACKSLASH)) {
    writer.raw(content);
    return;
  }
  const text: unknown = JSON.parse(`"${utf8Text(cursor.body, start, quoteAt)}"`);
  if (typeof text !== "string" || !text.isWellFormed()) {
    cursor.refuse("a string whose surrogates come in pairs");
  }
  writer.utf8(text);
}
