import { InferenceError } from "../../../base/error.ts";
import type { JsonKind, JsonReader } from "./json-reader.ts";

/** Refuses a member of the wrong kind with the text of Triton's JSON helper. */
export function unableToParse(member: string, expectation: string): never {
  throw new InferenceError("INVALID_ARG", `Unable to parse '${member}': ${expectation}`);
}

/** How messages call a kind of value. */
export const KIND_WORDS: Readonly<Record<JsonKind, string>> = {
  object: "an object",
  array: "an array",
  string: "a string",
  number: "a number",
  nonFinite: "NaN or an infinity",
  true: "true",
  false: "false",
  null: "null",
};

/** Checks the kind of the value at hand before it is read. */
export function expectKind(reader: JsonReader, kind: JsonKind, member: string): void {
  const seen = reader.peek();
  if (seen !== kind) unableToParse(member, `expected ${KIND_WORDS[kind]}, got ${KIND_WORDS[seen]}`);
}

/** Reads a string. */
export function readStringMember(reader: JsonReader, member: string): string {
  expectKind(reader, "string", member);
  return reader.string();
}

/** Reads true or false. */
export function readBooleanMember(reader: JsonReader, member: string): boolean {
  const kind = reader.peek();
  if (kind !== "true" && kind !== "false") {
    unableToParse(member, `expected a boolean, got ${KIND_WORDS[kind]}`);
  }
  return reader.boolean();
}

/** An integer in 0..2^64−1; other numbers and other kinds are refused. */
export function readUnsignedMember(reader: JsonReader, member: string): bigint {
  expectKind(reader, "number", member);
  const text = reader.number();
  if (!reader.isInteger || text.startsWith("-") || text.length > 20) {
    unableToParse(member, `expected an unsigned integer, got ${text.slice(0, 40)}`);
  }
  const value = BigInt(text);
  if (value > 0xffffffffffffffffn) {
    unableToParse(member, `expected an unsigned integer of 64 bits, got ${text}`);
  }
  return value;
}

/** {@link readUnsignedMember} as a number; above 2^53 it is inexact, which no valid size or dimension is. */
export function readSizeMember(reader: JsonReader, member: string): number {
  return Number(readUnsignedMember(reader, member));
}
