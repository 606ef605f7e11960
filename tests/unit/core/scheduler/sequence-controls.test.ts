import { describe, expect, test } from "bun:test";
import type { Datatype } from "../../../../src/base/datatype.ts";
import { correlationBytes } from "../../../../src/core/scheduler/sequence-controls.ts";

describe("an id as an element of a control tensor", () => {
  const cases: readonly [bigint | string, Datatype, readonly number[]][] = [
    [1n, "UINT64", [1, 0, 0, 0, 0, 0, 0, 0]],
    [2n ** 64n - 1n, "UINT64", [255, 255, 255, 255, 255, 255, 255, 255]],
    [2n ** 63n, "INT64", [0, 0, 0, 0, 0, 0, 0, 128]],
    [2n ** 32n + 5n, "UINT32", [5, 0, 0, 0]],
    [2n ** 32n - 1n, "INT32", [255, 255, 255, 255]],
    ["ü", "BYTES", [2, 0, 0, 0, 0xc3, 0xbc]],
    ["", "BYTES", [0, 0, 0, 0]],
  ];
  test.each(cases)("%p as %s", (id, datatype, bytes) => {
    expect([...correlationBytes(id, datatype)]).toEqual([...bytes]);
  });
});
