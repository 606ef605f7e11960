import { expect, test } from "bun:test";
import { formatSixDecimals } from "../../../../src/core/model/format-six-decimals.ts";

// What glibc's printf("%f") prints for each.
test.each([
  [0, "0.000000"],
  [-0, "-0.000000"],
  [1.5, "1.500000"],
  [1 / 3, "0.333333"],
  [1e10, "10000000000.000000"],
  [1e21, "1000000000000000000000.000000"],
  [-1.5e22, "-15000000000000000000000.000000"],
  [3.4028234663852886e38, "340282346638528859811704183484516925440.000000"],
  [1 / 128, "0.007812"],
  [3 / 128, "0.023438"],
  [-1 / 128, "-0.007812"],
  [5 / 128, "0.039062"],
  [1e-45, "0.000000"],
  [-1e-9, "-0.000000"],
  [Number.NaN, "nan"],
  [Infinity, "inf"],
  [-Infinity, "-inf"],
] as const)("%p is printed as C prints it", (value, text) => {
  expect(formatSixDecimals(value)).toBe(text);
});
