import { isUtf8 } from "node:buffer";
import { InferenceError } from "../../../base/error.ts";
import { latin1Text, utf8Text } from "./byte-text.ts";

/** Triton's limit on nested arrays and objects; it keeps a body of a million brackets from costing more than a hundred. */
export const MAX_JSON_DEPTH = 100;

/** What kind of value comes next. `nonFinite` stands for NaN and the infinities, which Triton reads and writes bare. */
export type JsonKind =
  | "object"
  | "array"
  | "string"
  | "number"
  | "nonFinite"
  | "true"
  | "false"
  | "null";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** Numbers of fewer digits and without exponent cannot be too big for a double. */
const SAFE_DIGIT_COUNT = 256;

const LITERALS: readonly (readonly [text: string, kind: JsonKind])[] = [
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["NaN", "nonFinite"],
  ["Infinity", "nonFinite"],
  ["-Infinity", "nonFinite"],
  ["Inf", "nonFinite"],
  ["-Inf", "nonFinite"],
];

/**
 * Reads one JSON document from bytes, front to back, without building a tree: tensors of millions of elements stay
 * ranges of the body until they are converted. Strict RFC 8259 plus bare NaN, Infinity and -Infinity; a byte order
 * mark before the document is skipped, as Triton does.
 *
 * Every method throws InferenceError INVALID_ARG on malformed text, with the offset. (Triton answers such faults
 * with INTERNAL; they are the caller's.)
 */
export class JsonReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Offset of the next byte to read. */
  at: number;
  /** After {@link skipNumber}: whether the token has neither fraction nor exponent. */
  isInteger = false;
  #depth = 0;
  readonly #start: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.byteLength) {
    this.bytes = bytes;
    this.end = end;
    this.#start = start;
    const hasMark = bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf;
    this.at = hasMark && end - start >= 3 ? start + 3 : start;
  }

  /** Kind of the value at hand; white space before it is passed over. */
  peek(): JsonKind {
    this.skipWhiteSpace();
    const byte = this.at < this.end ? this.bytes[this.at] : undefined;
    switch (byte) {
      case undefined:
        return this.#fail(this.at === this.#start ? "the document is empty" : "unexpected end");
      case 0x7b:
        return "object";
      case 0x5b:
        return "array";
      case QUOTE:
        return "string";
      case 0x74:
        return "true";
      case 0x66:
        return "false";
      case 0x6e:
        return "null";
      case MINUS:
        return this.bytes[this.at + 1] === 0x49 ? "nonFinite" : "number";
      case 0x4e:
      case 0x49:
        return "nonFinite";
      default:
        if (byte >= ZERO && byte <= NINE) return "number";
        return this.#fail("invalid value");
    }
  }

  /** Reads an object; `onMember` must consume the value of the member it is told. */
  object(onMember: (key: string) => void): void {
    this.#open();
    if (this.#closes(0x7d)) return;
    for (;;) {
      this.skipWhiteSpace();
      if (this.at >= this.end || this.bytes[this.at] !== QUOTE)
        this.#fail("expected a member name");
      const key = this.string();
      this.skipWhiteSpace();
      if (this.at >= this.end || this.bytes[this.at] !== COLON) {
        this.#fail("expected ':' after a member name");
      }
      this.at++;
      onMember(key);
      if (this.#endOfList(0x7d, "expected ',' or '}' after a member")) return;
    }
  }

  /** Reads an array; `onElement` must consume the element it is told the index of. */
  array(onElement: (index: number) => void): void {
    this.#open();
    if (this.#closes(0x5d)) return;
    for (let index = 0; ; index++) {
      onElement(index);
      if (this.#endOfList(0x5d, "expected ',' or ']' after an element")) return;
    }
  }

  /** Reads a string value or member name. */
  string(): string {
    const start = this.at + 1;
    const isPlain = this.skipString();
    if (isPlain) return latin1Text(this.bytes, start, this.at - 1);
    const raw = this.bytes.subarray(start, this.at - 1);
    if (!isUtf8(raw)) this.#fail("invalid UTF-8 in a string", start);
    // The token was checked by skipString, except that surrogates come in pairs: JSON.parse lets lone ones pass.
    const text: unknown = JSON.parse(`"${utf8Text(this.bytes, start, this.at - 1)}"`);
    if (typeof text !== "string" || !text.isWellFormed()) {
      return this.#fail("a surrogate without its partner in a string", start);
    }
    return text;
  }

  /** Text of a number, after which {@link isInteger} tells its kind. */
  number(): string {
    const start = this.at;
    this.skipNumber();
    return this.text(start, this.at);
  }

  /** Reads `true` or `false`. */
  boolean(): boolean {
    return this.#literal() === "true";
  }

  /** A part of the document as it stands; ASCII only (numbers, literals). */
  text(start: number, end: number): string {
    return latin1Text(this.bytes, start, end);
  }

  /** Passes over any value and checks it on the way. */
  skip(): void {
    switch (this.peek()) {
      case "object":
        this.object(this.#skipMember);
        break;
      case "array":
        this.#skipArray();
        break;
      case "string":
        this.skipString();
        break;
      case "number":
        this.skipNumber();
        break;
      default:
        this.#literal();
    }
  }

  /** Passes over a string. @returns whether it is ASCII without escapes. */
  skipString(): boolean {
    const { bytes, end } = this;
    let isPlain = true;
    let at = this.at + 1;
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.at = at + 1;
        return isPlain;
      }
      if (byte < 0x20) this.#fail("a control character in a string", at);
      if (byte === BACKSLASH) {
        isPlain = false;
        at = this.#skipEscape(at);
      } else if (byte > 0x7f) {
        isPlain = false;
      }
    }
    return this.#fail("a string without its closing quote", this.at);
  }

  /** Passes over a number and sets {@link isInteger}. */
  skipNumber(): void {
    const start = this.at;
    let at = start;
    const { bytes } = this;
    if (bytes[at] === MINUS) at++;
    const firstDigit = at;
    at = this.#skipDigits(at);
    if (bytes[firstDigit] === ZERO && at > firstDigit + 1)
      this.#fail("a number with a leading zero");
    this.isInteger = true;
    if (at < this.end && bytes[at] === 0x2e) {
      this.isInteger = false;
      at = this.#skipDigits(at + 1);
    }
    let mayOverflow = at - start > SAFE_DIGIT_COUNT;
    const marker = at < this.end ? bytes[at] : 0;
    if (marker === 0x65 || marker === 0x45) {
      this.isInteger = false;
      mayOverflow = true;
      const sign = bytes[at + 1];
      at = this.#skipDigits(sign === 0x2b || sign === MINUS ? at + 2 : at + 1);
    }
    if (mayOverflow && !Number.isFinite(Number(this.text(start, at)))) {
      this.#fail("a number too big for a double", start);
    }
    this.at = at;
  }

  /** Checks that nothing but white space follows. */
  finish(): void {
    this.skipWhiteSpace();
    if (this.at < this.end) this.#fail("the document is followed by other values");
  }

  skipWhiteSpace(): void {
    const { bytes, end } = this;
    let { at } = this;
    while (at < end) {
      const byte = bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at++;
    }
    this.at = at;
  }

  readonly #skipMember = (): void => this.skip();

  #skipArray(): void {
    this.#open();
    if (this.#closes(0x5d)) return;
    for (;;) {
      // Most elements of big arrays are numbers: spare them the detour over peek.
      const byte = this.at < this.end ? (this.bytes[this.at] as number) : 0;
      if (byte >= ZERO && byte <= NINE) this.skipNumber();
      else this.skip();
      if (this.at < this.end && this.bytes[this.at] === COMMA) {
        this.at++;
        continue;
      }
      if (this.#endOfList(0x5d, "expected ',' or ']' after an element")) return;
    }
  }

  #open(): void {
    this.at++;
    if (++this.#depth > MAX_JSON_DEPTH) {
      throw new InferenceError(
        "INVALID_ARG",
        `JSON nesting depth exceeds maximum allowed limit (${MAX_JSON_DEPTH})`,
      );
    }
  }

  /** Whether an empty object or array ends here. */
  #closes(closer: number): boolean {
    this.skipWhiteSpace();
    if (this.at >= this.end || this.bytes[this.at] !== closer) return false;
    this.at++;
    this.#depth--;
    return true;
  }

  /** After an element: passes the comma (false) or the closing bracket (true). */
  #endOfList(closer: number, expectation: string): boolean {
    this.skipWhiteSpace();
    const byte = this.at < this.end ? this.bytes[this.at] : undefined;
    if (byte === COMMA) {
      this.at++;
      return false;
    }
    if (byte !== closer) this.#fail(expectation);
    this.at++;
    this.#depth--;
    return true;
  }

  #literal(): JsonKind {
    for (const [text, kind] of LITERALS) {
      const after = this.at + text.length;
      if (after > this.end || this.text(this.at, after) !== text) continue;
      this.at = after;
      return kind;
    }
    return this.#fail("invalid value");
  }

  /** @param at offset of the backslash. @returns offset of the escape's last byte. */
  #skipEscape(at: number): number {
    const escaped = String.fromCharCode(this.bytes[at + 1] ?? 0);
    if (at + 1 >= this.end) this.#fail("a string without its closing quote", this.at);
    if ('"\\/bfnrt'.includes(escaped)) return at + 1;
    if (
      escaped !== "u" ||
      at + 5 >= this.end ||
      !/^[0-9a-fA-F]{4}$/.test(this.text(at + 2, at + 6))
    ) {
      this.#fail("an unknown escape in a string", at);
    }
    return at + 5;
  }

  #skipDigits(at: number): number {
    const { bytes, end } = this;
    const start = at;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte < ZERO || byte > NINE) break;
      at++;
    }
    if (at === start) this.#fail("a number without digits", at);
    return at;
  }

  #fail(what: string, at = this.at): never {
    throw new InferenceError(
      "INVALID_ARG",
      `failed to parse the request JSON buffer: ${what} at ${at - this.#start}`,
    );
  }
}
