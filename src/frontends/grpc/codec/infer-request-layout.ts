/** Where the parts of a serialised ModelInferRequest lie. */
export interface InferRequestLayout {
  /** The bytes of all fields but `id` and `raw_input_contents`, one character a byte: equal for requests of one form. */
  readonly formKey: string;
  /** `id`, from its first to behind its last byte; both 0 when there is none. */
  readonly idStart: number;
  readonly idEnd: number;
  /** `raw_input_contents`, views of the message. */
  readonly rawInputContents: readonly Uint8Array[];
}

/** Tags of ModelInferRequest's fields: all are length-delimited (wire type 2), so a tag is number × 8 + 2. */
const TAG = { modelName: 0x0a, id: 0x1a, outputs: 0x32, rawInputContents: 0x3a } as const;
const TAG_STEP = 8;
/** Longer descriptions are not worth keeping; typed contents would be among them. */
const MAX_KEY_BYTES = 4096;
/** A length above 2^31 − 1 cannot fit a gRPC message; five bytes hold every allowed one. */
const MAX_VARINT_BYTES = 5;

/** Reads length-delimited fields off a message, without copying. `-1` from a method means: not readable. */
class FieldCursor {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Moves behind a length prefix. @returns the length, −1 when it is malformed or runs past the end. */
  length(): number {
    const { bytes } = this;
    let value = 0;
    for (let i = 0, scale = 1; i < MAX_VARINT_BYTES; i++, scale *= 128) {
      const byte = bytes[this.at++];
      if (byte === undefined) return -1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return this.at + value <= bytes.length ? value : -1;
    }
    return -1;
  }
}

/**
 * Finds the parts of a request without decoding it. Requests written by the usual libraries have their fields in the
 * order of their numbers, so that the data, `raw_input_contents`, come last.
 *
 * @returns undefined for every message of another build, also for malformed ones: the full decoder takes those.
 */
export function layoutOfInferRequest(message: Buffer): InferRequestLayout | undefined {
  const cursor = new FieldCursor(message);
  let idTagAt = -1;
  let idStart = 0;
  let idEnd = 0;
  let tag = message[0];
  while (tag !== TAG.rawInputContents) {
    if (tag === undefined || tag < TAG.modelName || tag > TAG.outputs) return undefined;
    if ((tag - TAG.modelName) % TAG_STEP !== 0) return undefined;
    const tagAt = cursor.at++;
    const byteCount = cursor.length();
    if (byteCount < 0) return undefined;
    if (tag === TAG.id) {
      if (idTagAt >= 0) return undefined;
      idTagAt = tagAt;
      idStart = cursor.at;
      idEnd = idStart + byteCount;
    }
    cursor.at += byteCount;
    tag = message[cursor.at];
  }
  const formEnd = cursor.at;
  if (formEnd > MAX_KEY_BYTES + idEnd - idStart) return undefined;
  const rawInputContents = rawContentsFrom(cursor);
  if (rawInputContents === undefined) return undefined;
  const formKey =
    idTagAt < 0
      ? message.toString("latin1", 0, formEnd)
      : message.toString("latin1", 0, idTagAt) + message.toString("latin1", idEnd, formEnd);
  return { formKey, idStart, idEnd, rawInputContents };
}

function rawContentsFrom(cursor: FieldCursor): Uint8Array[] | undefined {
  const { buffer, byteOffset, length } = cursor.bytes;
  const contents: Uint8Array[] = [];
  while (cursor.at < length) {
    if (cursor.bytes[cursor.at++] !== TAG.rawInputContents) return undefined;
    const byteCount = cursor.length();
    if (byteCount < 0) return undefined;
    contents.push(new Uint8Array(buffer, byteOffset + cursor.at, byteCount));
    cursor.at += byteCount;
  }
  return contents;
}
