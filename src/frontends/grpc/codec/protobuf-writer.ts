/** Writes protobuf fields into a buffer that is known to be large enough. */
export class ProtobufWriter {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  varint(value: number): void {
    const { bytes } = this;
    let rest = value;
    while (rest > 0x7f) {
      bytes[this.at++] = (rest & 0x7f) | 0x80;
      // A length may reach 2^31 and more, where >>> would cut it off.
      rest = rest < 0x80000000 ? rest >>> 7 : Math.floor(rest / 128);
    }
    bytes[this.at++] = rest;
  }

  /** A length-delimited field. @param tag one byte: field numbers up to 15. */
  field(tag: number, content: Uint8Array): void {
    this.bytes[this.at++] = tag;
    this.varint(content.length);
    this.raw(content);
  }

  /** A string field. @param byteCount of `text` in UTF-8. */
  text(tag: number, text: string, byteCount: number): void {
    this.bytes[this.at++] = tag;
    this.varint(byteCount);
    this.bytes.write(text, this.at, byteCount, "utf8");
    this.at += byteCount;
  }

  /** Bytes as they are, for example fields that are ready made. */
  raw(content: Uint8Array): void {
    this.bytes.set(content, this.at);
    this.at += content.length;
  }
}

/** Bytes of a varint of a value below 2^53. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  let count = 4;
  for (let limit = 0x10000000; value >= limit; limit *= 128) count++;
  return count;
}

/** Bytes of a length-delimited field with a one-byte tag. */
export function fieldBytes(contentBytes: number): number {
  return 1 + varintBytes(contentBytes) + contentBytes;
}
