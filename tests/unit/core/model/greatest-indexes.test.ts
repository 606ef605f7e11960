import { expect, test } from "bun:test";
import { greatestIndexes } from "../../../../src/core/model/greatest-indexes.ts";

test("equal values come in the order of their index", () => {
  expect(greatestIndexes([1, 1, 1, 1, 1], 3)).toEqual([0, 1, 2]);
});

test("NaN comes behind everything and NaNs by index", () => {
  const values = [Number.NaN, -Infinity, Number.NaN, 5];
  expect(greatestIndexes(values, 4)).toEqual([3, 1, 0, 2]);
});

test("none is asked for", () => {
  expect(greatestIndexes([1, 2], 0)).toEqual([]);
});

test("it agrees with a full sort on many small cases", () => {
  let seed = 12345;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 500; round++) {
    const values = Array.from({ length: random(20) }, () => random(6));
    const count = random(values.length + 1);
    const sorted = values
      .map((_, i) => i)
      .sort((a, b) => {
        return (values[b] ?? 0) - (values[a] ?? 0) || a - b;
      });
    expect(greatestIndexes(values, count)).toEqual(sorted.slice(0, count));
  }
});
