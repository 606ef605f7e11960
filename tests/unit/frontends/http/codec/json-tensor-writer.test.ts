import { describe, expect, test } from "bun:test";
import type { Datatype } from "../../../../../src/base/datatype.ts";
import { ByteWriter } from "../../../../../src/frontends/http/codec/byte-writer.ts";
import {
  floatText,
  writeJsonElements,
} from "../../../../../src/frontends/http/codec/json-tensor-writer.ts";
import { packBytes } from "../../../../support/sample-models.ts";

function print(datatype: Datatype, values: ArrayBufferView): string {
  const writer = new ByteWriter(8);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  writeJsonElements(writer, { name: "OUT", datatype, shape: [], bytes });
  return writer.text();
}

describe("tensor elements as JSON", () => {
  test.each([
    ["UINT8", new Uint8Array([0, 1, 255]), "0,1,255"],
    ["INT8", new Int8Array([-128, 0, 127]), "-128,0,127"],
    ["UINT16", new Uint16Array([65535]), "65535"],
    ["INT16", new Int16Array([-32768]), "-32768"],
    ["UINT32", new Uint32Array([4294967295, 10, 99, 100]), "4294967295,10,99,100"],
    ["INT32", new Int32Array([-2147483648, 2147483647]), "-2147483648,2147483647"],
    ["UINT64", new BigUint64Array([18446744073709551615n]), "18446744073709551615"],
    ["INT64", new BigInt64Array([-9223372036854775808n, 5n]), "-9223372036854775808,5"],
    ["BOOL", new Uint8Array([1, 0]), "true,false"],
    ["FP64", new Float64Array([0.1, 1, -0]), "0.1,1.0,-0.0"],
    ["FP32", new Float32Array([0.5, 0.1]), "0.5,0.10000000149011612"],
  ] as const)("%s", (datatype, values, text) => {
    expect(print(datatype, values)).toBe(text);
  });

  test("bytes that are not aligned to their elements are read right", () => {
    const bytes = new Uint8Array(9);
    new DataView(bytes.buffer).setFloat64(1, 2.5, true);
    expect(print("FP64", bytes.subarray(1))).toBe("2.5");
  });

  test("an empty tensor has no elements", () => {
    expect(print("FP32", new Float32Array(0))).toBe("");
  });

  test("floats look as Triton prints them", () => {
    expect(
      [1, 1e20, 1e21, 1.5e300, 1e-6, 1e-7, 123456789.125, -0, Number.NaN, -Infinity].map(floatText),
    ).toEqual([
      "1.0",
      "100000000000000000000.0",
      "1e21",
      "1.5e300",
      "0.000001",
      "1e-7",
      "123456789.125",
      "-0.0",
      "NaN",
      "-Infinity",
    ]);
  });

  test("every float reads back as itself", () => {
    const bits = new Uint32Array(2000).map(() => Math.random() * 2 ** 32);
    const values = new Float32Array(bits.buffer).filter(Number.isFinite);
    const read = new Float32Array(JSON.parse(`[${print("FP32", values)}]`));
    expect(new Uint8Array(read.buffer)).toEqual(new Uint8Array(values.buffer));
  });

  test("strings are escaped, and what is not UTF-8 is replaced", () => {
    const strings = ["plain", "", 'a"\\\n\u0001', "é中😀", "\0"];
    const blob = packBytes(strings);
    expect(JSON.parse(`[${print("BYTES", blob)}]`)).toEqual(strings);
    expect(print("BYTES", packBytes([new Uint8Array([0x61, 0xff])]))).toBe('"a\ufffd"');
    expect(print("BYTES", packBytes(["\u001f"]))).toBe('"\\u001F"');
  });

  test("FP16 is refused with a hint at binary, and BYTES cut short are told", () => {
    expect(() => print("FP16", new Uint8Array(2))).toThrow(
      "sending FP16 data via JSON is not supported. Please use the binary data format for output OUT",
    );
    expect(() => print("BYTES", new Uint8Array([5, 0, 0, 0, 1]))).toThrow("cut short");
    expect(() => print("BYTES", new Uint8Array([5, 0]))).toThrow("cut short");
  });
});
