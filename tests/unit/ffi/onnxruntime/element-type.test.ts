import { expect, test } from "bun:test";
import { elementTypeCode, elementTypeFrom, valueKindFrom } from "#ffi/onnxruntime/element-type.ts";

test("names and numbers are those of onnxruntime_c_api.h", () => {
  const known = { float32: 1, int32: 6, string: 8, float16: 10, uint64: 13, bfloat16: 16 } as const;
  for (const [name, code] of Object.entries(known)) {
    expect<string>(elementTypeFrom(code)).toBe(name);
  }
  expect(elementTypeCode("bfloat16")).toBe(16);
  expect(valueKindFrom(1)).toBe("tensor");
});

test("a number of a newer library is unknown, not an error", () => {
  expect(elementTypeFrom(99)).toBe("undefined");
  expect(valueKindFrom(99)).toBe("unknown");
});
