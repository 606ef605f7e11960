import { dlopen } from "bun:ffi";
import { expect, test } from "bun:test";
import { setNativeVariable } from "#ffi/process-environment.ts";

const { getenv } = dlopen("libc.so.6", {
  getenv: { args: ["cstring"], returns: "cstring" },
}).symbols;

test("a variable is set for native libraries, once", () => {
  const name = `TRIBUNE_TEST_${process.pid}`;
  expect(setNativeVariable(name, "1")).toBe("1");
  expect(getenv(name)).toBe("1");
  expect(setNativeVariable(name, "2")).toBe("1");
});

test("what the user has set stays", () => {
  const path = getenv("PATH") ?? "";
  expect(setNativeVariable("PATH", "/nowhere")).toBe(path);
});
