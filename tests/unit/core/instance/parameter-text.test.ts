import { describe, expect, test } from "bun:test";
import { ParameterReader, ParameterWriter } from "../../../../src/core/instance/parameter-text.ts";
import type { Parameters } from "../../../../src/core/request/request-signature.ts";

const PARAMETERS: Parameters = new Map([
  ["flag", { kind: "bool", value: true }],
  ["big", { kind: "int64", value: -(2n ** 63n) }],
  ["ratio", { kind: "double", value: Number.NaN }],
  ["text", { kind: "string", value: 'é"\n' }],
] as const);

describe("response parameters as text", () => {
  test("come back with their kinds and exact values", () => {
    expect(new ParameterReader().decode(new ParameterWriter().encode(PARAMETERS))).toEqual(
      PARAMETERS,
    );
  });

  test("are the same object as long as the bytes are the same", () => {
    const reader = new ParameterReader();
    const bytes = new ParameterWriter().encode(PARAMETERS);
    const first = reader.decode(bytes);
    expect(reader.decode(bytes.slice())).toBe(first);
    expect(reader.decode(new ParameterWriter().encode(new Map()))).toEqual(new Map());
  });

  test("that are none are refused", () => {
    const reader = new ParameterReader();
    expect(() => reader.decode(Buffer.from("{}"))).toThrow("are not an array");
    expect(() => reader.decode(Buffer.from('[["a","blob","x"]]'))).toThrow("unknown kind 'blob'");
  });
});
