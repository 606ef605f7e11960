import { describe, expect, test } from "bun:test";
import { ByteWriter } from "../../../../../src/frontends/http/codec/byte-writer.ts";

describe("the byte writer", () => {
  test.each([
    "",
    "plain",
    "x".repeat(64),
    "x".repeat(65),
    'a"b',
    "a\\b",
    "a\nb\u0000\u001f",
    "é中😀",
    "\u007f",
    `${"x".repeat(80)}"é`,
  ])("writes %j as JSON does", (text) => {
    const writer = new ByteWriter(4);
    writer.ascii("[");
    writer.jsonString(text);
    writer.ascii("]");
    expect(JSON.parse(writer.text())).toEqual([text]);
  });

  test("replaces lone surrogates, which no UTF-8 can hold", () => {
    const writer = new ByteWriter();
    writer.jsonString("a\ud800b");
    expect(writer.text()).toBe('"a\ufffdb"');
  });

  test("grows, and starts over after clear", () => {
    const writer = new ByteWriter(1);
    for (let i = 0; i < 1000; i++) writer.byte(0x61);
    writer.raw(new Uint8Array([0x62, 0x63]));
    expect(writer.written().byteLength).toBe(1002);
    writer.clear();
    writer.utf8("é");
    expect(writer.text()).toBe("é");
  });
});
