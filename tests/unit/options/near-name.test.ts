import { expect, test } from "bun:test";
import { editDistance, nearestName } from "../../../src/options/near-name.ts";

test("the distance counts letters inserted, removed and replaced", () => {
  expect(editDistance("", "abc")).toBe(3);
  expect(editDistance("kitten", "sitting")).toBe(3);
  expect(editDistance("same", "same")).toBe(0);
});

test("the nearest of several is taken, and nothing where all are far", () => {
  expect(nearestName("grpc-prot", ["http-port", "grpc-port"])).toBe("grpc-port");
  expect(nearestName("banana", ["http-port", "grpc-port"])).toBeUndefined();
  expect(nearestName("x".repeat(10_000), ["http-port"])).toBeUndefined();
});
