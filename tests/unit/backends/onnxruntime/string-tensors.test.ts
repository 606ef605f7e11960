import { describe, expect, test } from "bun:test";
import { addressOf } from "#ffi/memory.ts";
import {
  stringElementsOf,
  stringValue,
  writeStringElements,
} from "../../../../src/backends/onnxruntime/string-tensors.ts";
import { needed, onnxruntimeOrSkip } from "../../../support/onnxruntime-library.ts";
import { packBytes } from "../../../support/sample-models.ts";

const found = await onnxruntimeOrSkip("string tensors of onnxruntime");

function tensor(bytes: Uint8Array) {
  return { name: "X", bytes, address: addressOf(bytes) };
}

describe.skipIf(found === undefined)("strings", () => {
  test.each([[[]], [[""]], [["a\0b", "", "\0"]], [["ü".repeat(40_000), "x"]]])(
    "%j come out as they went in",
    (elements) => {
      const bytes = packBytes(elements);
      using value = stringValue(needed(found), tensor(bytes), [elements.length]);
      const strings = stringElementsOf(value, elements.length);
      const target = new Uint8Array(strings.byteLength);
      writeStringElements(strings, target);
      expect([...target]).toEqual([...bytes]);
    },
  );

  test("bytes that are no UTF-8 are kept", () => {
    const bytes = packBytes([new Uint8Array([0xff, 0x00, 0xfe])]);
    using value = stringValue(needed(found), tensor(bytes), [1]);
    const strings = stringElementsOf(value, 1);
    expect([...strings.content]).toEqual([0xff, 0x00, 0xfe]);
  });

  test.each([
    [packBytes(["a"]), 2, "input 'X' ends within element 1 of 2, after 5 bytes"],
    [packBytes(["abc"]).subarray(0, 6), 1, "input 'X' ends within element 0 of 1, after 6 bytes"],
    [
      new Uint8Array([255, 255, 255, 255]),
      1,
      "input 'X' ends within element 0 of 1, after 4 bytes",
    ],
    [packBytes(["a", "b"]), 1, "input 'X' has 5 bytes beyond its 1 elements"],
  ])("bytes that do not make the elements are refused: case %#", (bytes, count, message) => {
    expect(() => stringValue(needed(found), tensor(new Uint8Array(bytes)), [count])).toThrow(
      message,
    );
  });
});
