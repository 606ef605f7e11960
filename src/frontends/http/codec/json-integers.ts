import type { Datatype } from "../../../base/datatype.ts";
import { latin1Text } from "./byte-text.ts";
import type { ElementCursor } from "./element-cursor.ts";
import { bytesOf } from "./element-cursor.ts";

const MINUS = 0x2d;
const ZERO = 0x30;
const DOT = 0x2e;

/** Digits that a double holds exactly whatever they are. */
const EXACT_DIGIT_COUNT = 15;
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

type IntegerArray = Uint8Array | Uint16Array | Uint32Array | Int8Array | Int16Array | Int32Array;

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

/** Reads elements of up to 32 bits into `out`. @throws InferenceError INVALID_ARG naming the element. */
export function readIntegers(cursor: ElementCursor, out: IntegerArray): Uint8Array {
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

/**
 * Reads INT64 and UINT64, exactly; two words each, so that short numbers need no BigInt.
 *
 * @throws InferenceError INVALID_ARG naming the element.
 */
export function readLongs(cursor: ElementCursor): Uint8Array {
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
