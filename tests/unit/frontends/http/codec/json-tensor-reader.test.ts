import { describe, expect, test } from "bun:test";
import type { Datatype } from "../../../../../src/base/datatype.ts";
import { JsonReader } from "../../../../../src/frontends/http/codec/json-reader.ts";
import { tensorBytesFromJson } from "../../../../../src/frontends/http/codec/json-tensor-reader.ts";
import { packBytes } from "../../../../support/sample-models.ts";

function convert(datatype: Datatype, data: string, elementCount: number): Uint8Array {
  // The text lies inside a larger body, as in a request.
  const body = new TextEncoder().encode(`xx${data}yy`);
  const end = body.byteLength - 2;
  const reader = new JsonReader(body, 2, end);
  reader.skip();
  reader.finish();
  return tensorBytesFromJson({
    body,
    start: 2,
    end,
    inputName: "INPUT0",
    datatype,
    shape: [elementCount],
    elementCount,
  });
}

function floats(data: string, count: number): number[] {
  return [...new Float64Array(convert("FP64", data, count).slice().buffer)];
}

describe("tensor data in JSON", () => {
  test.each([
    ["UINT8", "[0,1,255]", new Uint8Array([0, 1, 255])],
    ["INT8", "[-128,0,127]", new Int8Array([-128, 0, 127])],
    ["UINT16", "[0,256,65535]", new Uint16Array([0, 256, 65535])],
    ["INT16", "[-32768,-1,32767]", new Int16Array([-32768, -1, 32767])],
    ["UINT32", "[0,65536,4294967295]", new Uint32Array([0, 65536, 4294967295])],
    ["INT32", "[-2147483648,-1,2147483647]", new Int32Array([-2147483648, -1, 2147483647])],
    [
      "UINT64",
      "[0,9007199254740993,18446744073709551615]",
      new BigUint64Array([0n, 9007199254740993n, 18446744073709551615n]),
    ],
    [
      "INT64",
      "[-9223372036854775808,-9007199254740993,9223372036854775807]",
      new BigInt64Array([-9223372036854775808n, -9007199254740993n, 9223372036854775807n]),
    ],
    ["INT64", "[-1,4294967296,-4294967297]", new BigInt64Array([-1n, 4294967296n, -4294967297n])],
    ["BOOL", "[true,false,true]", new Uint8Array([1, 0, 1])],
    [
      "FP32",
      "[1.5,-3.4028234663852886e38,1.401298464324817e-45]",
      new Float32Array([1.5, -3.4028234663852886e38, 1.401298464324817e-45]),
    ],
  ] as const)("%s keeps the extremes of %s", (datatype, data, wanted) => {
    expect(convert(datatype, data, 3)).toEqual(new Uint8Array(wanted.buffer));
  });

  test("doubles are the nearest ones, whatever way they are written", () => {
    const texts = [
      "0.1",
      "123456789.123",
      "2e-7",
      "1e21",
      "9007199254740993.0",
      "2.2250738585072014e-308",
      "5e-324",
      "-0.0",
      "-0",
      "1",
      "0.30000000000000004",
      "1E+3",
      "2.5E-1",
      "100000000000000000000",
      "0.000001",
      "8.41",
    ];
    expect(floats(`[${texts.join(" , ")}]`, texts.length)).toEqual(texts.map(Number));
  });

  test("NaN and the infinities are taken as literals", () => {
    expect(floats("[NaN,Infinity,-Infinity,Inf,-Inf]", 5)).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
  });

  test("many floats are read as few are, whatever is among them", () => {
    const values = Array.from({ length: 500 }, (_, i) => Math.sin(i) * 10 ** ((i % 40) - 20));
    const text = values.map(String);
    expect(floats(`[${text}]`, 500)).toEqual(values);
    expect(floats(`[[${text.slice(0, 100)}],[[${text.slice(100)}]]]`, 500)).toEqual(values);
    text[250] = "-0";
    expect(Object.is(floats(`[${text}]`, 500)[250], -0)).toBe(true);
    text[250] = "NaN";
    expect(floats(`[${text}]`, 500)[250]).toBeNaN();
    for (const odd of ["true", "null", '"1"', "{}"]) {
      text[250] = odd;
      expect(() => floats(`[${text}]`, 500)).toThrow("element 250 of input 'INPUT0'");
    }
    text[250] = "1";
    expect(() => floats(`[${text}]`, 501)).toThrow("got 500");
    expect(() => floats(`[${text}]`, 499)).toThrow("got more");
  });

  test("nested, ragged and flat lists mean the same", () => {
    for (const data of ["[1,2,3,4]", "[[1,2],[3,4]]", "[ [[1],[2]] ,\n[3,[4]],[] ]"]) {
      expect(floats(data, 4)).toEqual([1, 2, 3, 4]);
    }
  });

  test("strings become length-prefixed UTF-8, embedded NULs and escapes included", () => {
    const strings = ["plain", "", "a\0b\0", '"\\/\b\f\n\r\t', "é中😀", "\u2028"];
    expect(convert("BYTES", JSON.stringify(strings), strings.length)).toEqual(packBytes(strings));
    expect(convert("BYTES", '[["a"],["\\u0000]["]]', 2)).toEqual(packBytes(["a", "\0]["]));
  });

  test.each([
    ["INT32", "[1.5,2]", "element 0 of input 'INPUT0' must be a whole number"],
    ["INT32", "[1e3,2]", "must be a whole number"],
    ["INT32", '["1",2]', "got a string"],
    ["INT32", "[null,2]", "got null"],
    ["INT32", "[1,true]", "element 1 of input 'INPUT0'"],
    [
      "INT32",
      "[3000000000,1]",
      "must be a whole number in -2147483648..2147483647 to be INT32, got 3000000000",
    ],
    ["UINT8", "[-1,1]", "0..255"],
    ["INT8", "[300,1]", "got 300"],
    ["UINT64", "[-1,1]", "0..18446744073709551615"],
    ["UINT64", "[18446744073709551616,1]", "got 18446744073709551616"],
    ["INT64", "[9223372036854775808,1]", "got 9223372036854775808"],
    ["INT64", `[${"9".repeat(200)},1]`, "must be a whole number"],
    ["BOOL", "[1,0]", "must be true or false"],
    ["BOOL", '["true",true]', "must be true or false"],
    ["FP32", '["1",2]', "must be a number"],
    ["FP32", "[true,2]", "must be a number"],
    ["FP32", "[null,2]", "must be a number"],
    ["FP32", "[{},1]", "got an object"],
    ["BYTES", "[1,2]", "must be a string"],
    ["BYTES", '["a",null]', "must be a string"],
    ["BYTES", '["a","\\ud800"]', "surrogates"],
  ] as const)("%s refuses %s", (datatype, data, fault) => {
    expect(() => convert(datatype, data, 2)).toThrow(fault);
  });

  test.each(["INT32", "FP32", "INT64"] as const)("%s data must fill the shape", (datatype) => {
    expect(() => convert(datatype, "[1,2,3]", 2)).toThrow(
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    );
    expect(() => convert(datatype, "[1,2,3]", 4)).toThrow("expects 4 elements, got 3");
  });

  test("a shape far beyond the text is refused without being allocated", () => {
    expect(() => convert("FP64", "[1,2]", 2 ** 52)).toThrow("got 2");
    expect(() => convert("BYTES", '["a","b"]', 2 ** 52)).toThrow("got 2");
  });

  test("an empty tensor ignores its data", () => {
    expect(convert("INT32", "[]", 0).byteLength).toBe(0);
    expect(convert("INT32", "[1,2]", 0).byteLength).toBe(0);
  });

  test.each(["FP16", "BF16"] as const)("%s is refused with a hint at binary", (datatype) => {
    expect(() => convert(datatype, "[1]", 1)).toThrow(
      `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input INPUT0`,
    );
  });

  test("strings that are not UTF-8 are refused", () => {
    const body = new Uint8Array([0x5b, 0x22, 0xff, 0x22, 0x5d]);
    expect(() =>
      tensorBytesFromJson({
        body,
        start: 0,
        end: 5,
        inputName: "INPUT0",
        datatype: "BYTES",
        shape: [1],
        elementCount: 1,
      }),
    ).toThrow("not UTF-8");
  });

  test("a big image is converted right", () => {
    const count = 1_400_000;
    const pixels = Array.from({ length: count }, (_, i) => i % 256);
    const bytes = convert("UINT8", JSON.stringify([pixels]), count);
    expect(bytes.byteLength).toBe(count);
    expect(bytes.every((value, i) => value === i % 256)).toBe(true);
  });
});
