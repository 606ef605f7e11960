import { describe, expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { InferTensorContentsSchema } from "#gen/inference/grpc_service_pb.ts";
import type { Datatype } from "../../../../../src/base/datatype.ts";
import { bytesFromContents } from "../../../../../src/frontends/grpc/codec/typed-contents.ts";

type Contents = MessageInitShape<typeof InferTensorContentsSchema>;

function bytesOf(datatype: Datatype, contents: Contents): number[] {
  return [...bytesFromContents(create(InferTensorContentsSchema, contents), datatype, "IN", "m")];
}

function bytesIn(array: { readonly buffer: ArrayBufferLike }): number[] {
  return [...new Uint8Array(array.buffer)];
}

describe("typed contents", () => {
  test.each<[Datatype, Contents, number[]]>([
    ["BOOL", { boolContents: [true, false, true] }, [1, 0, 1]],
    ["INT8", { intContents: [-128, 127] }, bytesIn(Int8Array.of(-128, 127))],
    ["INT16", { intContents: [-2, 300] }, bytesIn(Int16Array.of(-2, 300))],
    ["INT32", { intContents: [-2, 2147483647] }, bytesIn(Int32Array.of(-2, 2147483647))],
    [
      "INT64",
      { int64Contents: [-9007199254740993n] },
      bytesIn(BigInt64Array.of(-9007199254740993n)),
    ],
    ["UINT8", { uintContents: [255] }, [255]],
    ["UINT16", { uintContents: [65535] }, [255, 255]],
    ["UINT32", { uintContents: [4294967295] }, [255, 255, 255, 255]],
    ["UINT64", { uint64Contents: [2n ** 64n - 1n] }, new Array(8).fill(255)],
    ["FP32", { fp32Contents: [1.5] }, bytesIn(Float32Array.of(1.5))],
    ["FP64", { fp64Contents: [0.1] }, bytesIn(Float64Array.of(0.1))],
    [
      "BYTES",
      { bytesContents: [Uint8Array.of(7, 8), Uint8Array.of()] },
      [2, 0, 0, 0, 7, 8, 0, 0, 0, 0],
    ],
    ["INT32", {}, []],
    ["BYTES", {}, []],
  ])("of %s become raw bytes", (datatype, contents, bytes) => {
    expect(bytesOf(datatype, contents)).toEqual(bytes);
  });

  test("of integers that do not fit lose their high bits, as in Triton", () => {
    expect(bytesOf("INT8", { intContents: [300] })).toEqual([44]);
  });

  test.each<[Datatype, Contents, string]>([
    ["INT32", { int64Contents: [1n] }, "expected int_contents alone, found int64_contents"],
    [
      "INT32",
      { intContents: [1], fp32Contents: [1] },
      "expected int_contents alone, found fp32_contents",
    ],
    ["FP16", { fp32Contents: [1] }, "raw_input_contents only"],
    ["BF16", {}, "raw_input_contents only"],
  ])("of %s are refused in another field", (datatype, contents, text) => {
    expect(() => bytesOf(datatype, contents)).toThrow(text);
    expect(() => bytesOf(datatype, contents)).toThrow("input tensor 'IN' for model 'm'");
  });
});
