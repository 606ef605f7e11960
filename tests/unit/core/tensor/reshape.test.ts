import { expect, test } from "bun:test";
import { reshaped } from "../../../../src/core/tensor/reshape.ts";

test("fixed dimensions are replaced and free ones carry their size over in order", () => {
  expect(reshaped([2, 2], [4], [2, 2])).toEqual([4]);
  expect(reshaped([-1, 4, -1], [2, -1, 2, -1], [5, 4, 7])).toEqual([2, 5, 2, 7]);
});

test("an empty reshape takes the only element out of its dimension", () => {
  expect(reshaped([1], [], [1])).toEqual([]);
  expect(reshaped([], [1], [])).toEqual([1]);
});
