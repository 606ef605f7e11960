import { describe, expect, test } from "bun:test";
import { compareReshape, isDimension } from "../../../../src/core/config/dimensions.ts";

describe("isDimension", () => {
  test.each([
    [1n, true],
    [-1n, true],
    [9_007_199_254_740_991n, true],
    [0n, false],
    [-2n, false],
    [9_007_199_254_740_992n, false],
  ])("of %p is %p", (dim, expected) => {
    expect(isDimension(dim)).toBe(expected);
  });
});

describe("compareReshape", () => {
  test.each([
    [[2, 2], [4], undefined],
    [[1], [], undefined],
    [[-1, 2, 3], [-1, 6], undefined],
    [[2, -1, 3], [2, -1, 3, 1], undefined],
    [[-1, -1], [-1, 1, -1], undefined],
    [[2, 3], [4], "size"],
    [[2], [], "size"],
    [[-1, 6], [6, -1], "size"],
    [[-1, 2], [2], "free-count"],
    [[4], [-1], "free-count"],
  ] as const)("of %p and %p is %p", (dims, shape, expected) => {
    expect(compareReshape(dims.map(BigInt), shape.map(BigInt))).toBe(expected);
  });
});
