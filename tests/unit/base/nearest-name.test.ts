import { describe, expect, test } from "bun:test";
import { nearestName } from "../../../src/base/nearest-name.ts";

const NAMES = ["name", "max_batch_size", "dynamic_batching", "http-port", "dims"];

describe("nearestName", () => {
  test.each([
    ["max_bach_size", "max_batch_size"],
    ["maxBatchSize", "max_batch_size"],
    ["dynamic_batchin", "dynamic_batching"],
    ["http_port", "http-port"],
    ["Name", "name"],
    ["dim", "dims"],
  ])("takes %s for %s", (mistyped, expected) => {
    expect(nearestName(mistyped, NAMES)).toBe(expected);
  });

  test("gives nothing where no name is near", () => {
    expect(nearestName("zzz", NAMES)).toBeUndefined();
    expect(nearestName("", NAMES)).toBeUndefined();
  });

  test("is not slowed down by a huge name", () => {
    expect(nearestName("x".repeat(1_000_000), NAMES)).toBeUndefined();
  });
});
