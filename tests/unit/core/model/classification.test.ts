import { expect, test } from "bun:test";
import type { Datatype } from "../../../../src/base/datatype.ts";
import type { Shape } from "../../../../src/base/shape.ts";
import {
  type ClassificationOptions,
  classify,
  isClassifiable,
} from "../../../../src/core/model/classification.ts";

function tensor(datatype: Datatype, shape: Shape, data: ArrayBufferView) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { name: "OUTPUT0", datatype, shape, bytes };
}

function textsOf(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const length = view.getUint32(offset, true);
    texts.push(new TextDecoder().decode(bytes.subarray(offset + 4, offset + 4 + length)));
    offset += 4 + length;
  }
  return texts;
}

function classes(
  datatype: Datatype,
  shape: Shape,
  data: ArrayBufferView,
  options: ClassificationOptions,
) {
  const result = classify(tensor(datatype, shape, data), options);
  return { datatype: result.datatype, shape: result.shape, texts: textsOf(result.bytes) };
}

const ROWS = new Float32Array([1, 5, 3, 4, -2, -1, 6, 5, 4, 3, 2, 1]);
const LABELS = ["cat", "dog", "black bird", "fish: cod"];

test("the best of each row come in falling order with their labels", () => {
  const options = { classCount: 3, hasBatchDimension: true, labels: LABELS };
  expect(classes("FP32", [2, 6], ROWS, options)).toEqual({
    datatype: "BYTES",
    shape: [2, 3],
    texts: [
      "5.000000:1:dog",
      "4.000000:3:fish: cod",
      "3.000000:2:black bird",
      "6.000000:0:cat",
      "5.000000:1:dog",
      "4.000000:2:black bird",
    ],
  });
});

test("an index beyond the labels, or with an empty one, has none", () => {
  const options = { classCount: 2, hasBatchDimension: false, labels: ["", "b"] };
  expect(classes("INT32", [3], new Int32Array([3, 1, 2]), options).texts).toEqual(["3:0", "2:2"]);
});

test("without a batch dimension all elements are one row", () => {
  const options = { classCount: 2, hasBatchDimension: false };
  const result = classes("FP32", [2, 2], new Float32Array([1, 2, 3, 4]), options);
  expect(result.shape).toEqual([2]);
  expect(result.texts).toEqual(["4.000000:3", "3.000000:2"]);
});

test("more classes than elements gives all elements", () => {
  const options = { classCount: 1000, hasBatchDimension: true };
  expect(classes("FP32", [2, 6], ROWS, options).shape).toEqual([2, 6]);
});

test("an empty row gives no class", () => {
  const options = { classCount: 2, hasBatchDimension: true };
  const result = classes("FP32", [2, 0], new Float32Array(0), options);
  expect([result.shape, result.texts]).toEqual([[2, 0], []]);
});

test.each([
  ["INT8", new Int8Array([-1, -128, 3]), ["3:2", "-1:0"]],
  ["UINT8", new Uint8Array([1, 200, 3]), ["200:1", "3:2"]],
  ["INT16", new Int16Array([-300, 300]), ["300:1", "-300:0"]],
  ["UINT16", new Uint16Array([65535, 1]), ["65535:0", "1:1"]],
  ["UINT32", new Uint32Array([4294967295, 1]), ["4294967295:0", "1:1"]],
  [
    "INT64",
    new BigInt64Array([2n ** 53n, 2n ** 53n + 1n]),
    ["9007199254740993:1", "9007199254740992:0"],
  ],
  ["UINT64", new BigUint64Array([2n ** 64n - 1n, 0n]), ["18446744073709551615:0", "0:1"]],
  ["FP64", new Float64Array([0.1, 1 / 3]), ["0.333333:1", "0.100000:0"]],
] as const)("values of %s are compared and printed whole", (datatype, data, texts) => {
  const options = { classCount: 2, hasBatchDimension: false };
  expect(classes(datatype, [data.length], data, options).texts).toEqual([...texts]);
});

test("bytes that lie at an odd offset are read", () => {
  const padded = new Uint8Array(9);
  padded.set(new Uint8Array(new Float32Array([1, 2]).buffer), 1);
  const unaligned = { name: "O", datatype: "FP32", shape: [2], bytes: padded.subarray(1) } as const;
  const result = classify(unaligned, { classCount: 1, hasBatchDimension: false });
  expect(textsOf(result.bytes)).toEqual(["2.000000:1"]);
});

test.each(["FP16", "BF16", "BOOL", "BYTES"] as const)("%s has no order", (datatype) => {
  expect(isClassifiable(datatype)).toBe(false);
  expect(() =>
    classify(tensor(datatype, [1], new Uint8Array(2)), { classCount: 1, hasBatchDimension: false }),
  ).toThrow(`'${datatype}'`);
});

test("a row of more than a million elements is refused", () => {
  const data = new Uint8Array(1_000_001);
  expect(() =>
    classify(tensor("UINT8", [1, data.length], data), { classCount: 1, hasBatchDimension: true }),
  ).toThrow("1000001");
});
