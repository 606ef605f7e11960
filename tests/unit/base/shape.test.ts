import { describe, expect, test } from "bun:test";
import { elementCount, formatShape, shapeMatches, shapesEqual } from "../../../src/base/shape.ts";

describe("elementCount", () => {
  test("multiplies the dimensions, and a scalar has one element", () => {
    expect(elementCount([2, 3, 4])).toBe(24);
    expect(elementCount([])).toBe(1);
    expect(elementCount([5, 0, 7])).toBe(0);
  });

  test("is NaN for a negative dimension and for what a number cannot hold", () => {
    expect(elementCount([2, -1])).toBeNaN();
    expect(elementCount([2 ** 62, 2 ** 62])).toBeNaN();
    expect(elementCount([2 ** 53, 1])).toBeNaN();
    expect(elementCount([2 ** 53 - 1])).toBe(Number.MAX_SAFE_INTEGER);
  });
});

test("formatShape writes Triton's form", () => {
  expect(formatShape([-1, 16])).toBe("[-1,16]");
  expect(formatShape([])).toBe("[]");
});

test("shapeMatches takes any size for -1 and no other rank", () => {
  expect(shapeMatches([-1, 16], [0, 16])).toBe(true);
  expect(shapeMatches([-1, 16], [4, 15])).toBe(false);
  expect(shapeMatches([-1], [1, 1])).toBe(false);
});

test("shapesEqual compares dimension by dimension, -1 included", () => {
  expect(shapesEqual([1, 2], [1, 2])).toBe(true);
  expect(shapesEqual([1, 2], [1, 2, 1])).toBe(false);
  expect(shapesEqual([-1], [3])).toBe(false);
});
