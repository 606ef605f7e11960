import { isUtf8 } from "node:buffer";
import { InferenceError } from "../../../base/error.ts";
import { utf8Text } from "./byte-text.ts";
import { ByteWriter } from "./byte-writer.ts";
import type { JsonTensorSource } from "./element-cursor.ts";
import { ElementCursor, stringEnd } from "./element-cursor.ts";
import { readFloats } from "./json-floats.ts";
import { readIntegers, readLongs } from "./json-integers.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

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
