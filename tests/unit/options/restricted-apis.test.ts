import { expect, test } from "bun:test";
import { parseRestrictedGroup, restrictedApisFrom } from "../../../src/options/restricted-apis.ts";

const FLAG = "http-restricted-api";

test("each api of a group gets the group's key", () => {
  const group = parseRestrictedGroup("health,trace:admin-key=a=b", FLAG);
  expect([...restrictedApisFrom([group], FLAG)]).toEqual([
    ["health", { key: "admin-key", value: "a=b" }],
    ["trace", { key: "admin-key", value: "a=b" }],
  ]);
});

test("the key of gRPC gets its prefix", () => {
  const group = parseRestrictedGroup("logging:k=v", FLAG);
  expect(restrictedApisFrom([group], FLAG, "triton-grpc-protocol-").get("logging")?.key).toBe(
    "triton-grpc-protocol-k",
  );
});

test("an api in two groups is refused", () => {
  const groups = ["health:a=1", "health:b=2"].map((text) => parseRestrictedGroup(text, FLAG));
  expect(() => restrictedApisFrom(groups, FLAG)).toThrow(
    "restricted api 'health' can not be specified in multiple config groups",
  );
});

test.each(["health", "health:k", ":k=v", "health:=v", "nothing:k=v"])("%j is refused", (text) => {
  expect(() => parseRestrictedGroup(text, FLAG)).toThrow();
});
