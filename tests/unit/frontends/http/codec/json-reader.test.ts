import { describe, expect, test } from "bun:test";
import { JsonReader, MAX_JSON_DEPTH } from "../../../../../src/frontends/http/codec/json-reader.ts";

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function check(text: string | Uint8Array): void {
  const reader = new JsonReader(typeof text === "string" ? bytesOf(text) : text);
  reader.skip();
  reader.finish();
}

function readString(text: string | Uint8Array): string {
  const reader = new JsonReader(typeof text === "string" ? bytesOf(text) : text);
  expect(reader.peek()).toBe("string");
  return reader.string();
}

describe("the JSON reader", () => {
  test.each([
    "{}",
    "[]",
    "null",
    "true",
    "-0",
    "0.5e-7",
    "1E+3",
    "[1,-2.5,[],{}]",
    ' {"a" : [ 1 , "b" ] , "c":null}\r\n\t',
    '"\\u00e9\\n\\/"',
    "[NaN,Infinity,-Infinity]",
    `${"1".repeat(300)}`,
  ])("passes over %s", (text) => {
    expect(() => check(text)).not.toThrow();
  });

  test.each([
    ["", "the document is empty at 0"],
    ["  ", "unexpected end at 2"],
    ["{", "expected a member name at 1"],
    ['{"a"}', "expected ':' after a member name at 4"],
    ['{"a":1,}', "expected a member name"],
    ["{'a':1}", "expected a member name at 1"],
    ["[1,]", "invalid value at 3"],
    ["[1 2]", "expected ',' or ']' after an element at 3"],
    ["[1", "expected ',' or ']' after an element at 2"],
    ["01", "a number with a leading zero"],
    ["+1", "invalid value at 0"],
    ["-", "a number without digits at 1"],
    ["1.", "a number without digits at 2"],
    ["1e", "a number without digits at 2"],
    ["1e400", "a number too big for a double at 0"],
    ["1".repeat(310), "a number too big for a double at 0"],
    ['"a', "a string without its closing quote at 0"],
    ['"a\\', "a string without its closing quote"],
    ['"\\x"', "an unknown escape in a string at 1"],
    ['"\\u12g4"', "an unknown escape in a string at 1"],
    ['"a\nb"', "a control character in a string at 2"],
    ["tru", "invalid value at 0"],
    ["{}x", "the document is followed by other values at 2"],
    ["//c\n{}", "invalid value at 0"],
    ["\0{}", "invalid value at 0"],
  ])("refuses %j with the offset", (text, fault) => {
    expect(() => check(text)).toThrow(`failed to parse the request JSON buffer: ${fault}`);
  });

  test("skips a byte order mark before the document", () => {
    expect(() => check(bytesOf("\ufeff{}"))).not.toThrow();
  });

  test("decodes escapes, surrogate pairs and raw UTF-8", () => {
    expect(readString('"a\\u0000\\ud83d\\ude00\\"\\\\\\/é中"')).toBe('a\0😀"\\/é中');
  });

  test("refuses lone surrogates and what is not UTF-8", () => {
    expect(() => readString('"\\ud800"')).toThrow("a surrogate without its partner");
    expect(() => readString(new Uint8Array([0x22, 0xc4, 0xe3, 0x22]))).toThrow("invalid UTF-8");
  });

  test("ends at its limit of nesting, however deep the text goes on", () => {
    const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(() => check(deep(MAX_JSON_DEPTH))).not.toThrow();
    expect(() => check(deep(MAX_JSON_DEPTH + 1))).toThrow("nesting depth exceeds maximum");
    expect(() => check("[".repeat(1_000_000))).toThrow("nesting depth exceeds maximum");
    expect(() => check('{"a":'.repeat(300_000))).toThrow("nesting depth exceeds maximum");
  });

  test("forgets the depth of arrays that have ended", () => {
    expect(() => check(`[${"[[]],".repeat(500)}[]]`)).not.toThrow();
  });

  test("tells whole numbers from others", () => {
    const reader = new JsonReader(bytesOf("18446744073709551615"));
    expect(reader.number()).toBe("18446744073709551615");
    expect(reader.isInteger).toBe(true);
    const fraction = new JsonReader(bytesOf("1.0"));
    fraction.number();
    expect(fraction.isInteger).toBe(false);
  });
});
