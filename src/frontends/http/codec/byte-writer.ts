import { isUtf8 } from "node:buffer";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Longer strings are as fast by the runtime's own functions. */
const MAX_PLAIN_LENGTH = 64;
const HEX = "0123456789ABCDEF";

/** Second character of the short escapes of RFC 8259; 0 where `\u00XX` must be written. */
const SHORT_ESCAPES: Readonly<Record<number, string>> = {
  8: "b",
  9: "t",
  10: "n",
  12: "f",
  13: "r",
  34: '"',
  92: "\\",
};

/**
 * Bytes that grow at their end; doubles when full. Not zeroed: only what was written may be read.
 * Reuse by {@link clear}; what {@link written} returned is then overwritten.
 */
export class ByteWriter {
  bytes: Buffer<ArrayBuffer>;
  length = 0;

  constructor(capacityBytes = 1024) {
    this.bytes = Buffer.allocUnsafeSlow(capacityBytes);
  }

  clear(): void {
    this.length = 0;
  }

  /** View of everything written so far; valid until the next write. */
  written(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.bytes.buffer, this.bytes.byteOffset, this.length);
  }

  /** Everything written so far as text. */
  text(): string {
    return this.bytes.toString("utf8", 0, this.length);
  }

  /** Makes room for at least `byteLength` more bytes. */
  reserve(byteLength: number): void {
    const needed = this.length + byteLength;
    if (needed <= this.bytes.byteLength) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.byteLength * 2));
    grown.set(this.written());
    this.bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.bytes.byteLength) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Text of characters below U+0080. */
  ascii(text: string): void {
    const { length } = text;
    this.reserve(length);
    if (length > 64) {
      this.length += this.bytes.write(text, this.length, "latin1");
      return;
    }
    const { bytes } = this;
    let at = this.length;
    for (let i = 0; i < length; i++) bytes[at++] = text.charCodeAt(i);
    this.length = at;
  }

  raw(part: Uint8Array): void {
    this.reserve(part.byteLength);
    this.bytes.set(part, this.length);
    this.length += part.byteLength;
  }

  utf8(text: string): void {
    this.reserve(text.length * 3);
    this.length += this.bytes.write(text, this.length);
  }

  /** A JSON string in quotes, with the escapes of RFC 8259. Lone surrogates become U+FFFD. */
  jsonString(text: string): void {
    if (text.length <= MAX_PLAIN_LENGTH && this.#plainString(text)) return;
    this.utf8(JSON.stringify(text.isWellFormed() ? text : text.toWellFormed()));
  }

  /** Writes a string that needs no escapes, as names and ids do. @returns false, with nothing written, for others. */
  #plainString(text: string): boolean {
    const { length } = text;
    this.reserve(length + 2);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = QUOTE;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) return false;
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.length = at;
    return true;
  }

  /** A JSON string made of UTF-8 bytes. What is not UTF-8 becomes U+FFFD: a JSON text must be decodable. */
  jsonStringOfBytes(content: Uint8Array): void {
    let source = content;
    if (!isUtf8(content)) source = new TextEncoder().encode(new TextDecoder().decode(content));
    this.reserve(source.byteLength + 2);
    this.bytes[this.length++] = QUOTE;
    let copied = 0;
    for (let i = 0; i < source.byteLength; i++) {
      const byte = source[i] as number;
      if (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) continue;
      this.raw(source.subarray(copied, i));
      copied = i + 1;
      this.byte(BACKSLASH);
      const short = SHORT_ESCAPES[byte];
      this.ascii(short ?? `u00${HEX[byte >> 4]}${HEX[byte & 15]}`);
    }
    this.raw(source.subarray(copied));
    this.byte(QUOTE);
  }
}
