import type { Datatype } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import type { Shape } from "../../../base/shape.ts";
import { formatShape } from "../../../base/shape.ts";
import { latin1Text } from "./byte-text.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

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

/** Walks over the elements of a checked array; brackets, commas and white space mean nothing to it. */
export class ElementCursor {
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
    const isShort = first !== QUOTE && first !== OPEN_BRACE;
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

/** Offset behind the string that begins at `at`. */
export function stringEnd(body: Uint8Array, at: number): number {
  let end = at + 1;
  while (body[end] !== QUOTE) end += body[end] === BACKSLASH ? 2 : 1;
  return end + 1;
}

/** The bytes behind a typed array. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
