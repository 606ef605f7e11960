import { describe, expect, test } from "bun:test";
import { OptionError } from "../../../src/options/option.ts";
import {
  parseGpuBytes,
  parseGpuFraction,
  parseKeyValue,
  parseOwnedSetting,
  parsePortRange,
  parseRateLimitResource,
  parseSetting,
} from "../../../src/options/setting.ts";

describe("settings with an owner", () => {
  test("the owner may be left out", () => {
    expect(parseSetting("a,k=v", "f")).toEqual({ owner: "a", key: "k", value: "v" });
    expect(parseSetting("k=v", "f")).toEqual({ owner: "", key: "k", value: "v" });
  });

  test("commas and equal signs after the first equal sign are the value's", () => {
    expect(parseSetting("triton,file=/a,b=c", "f").value).toBe("/a,b=c");
    expect(parseSetting("file=/a,b", "f")).toEqual({ owner: "", key: "file", value: "/a,b" });
  });

  test.each(["", "a", ",k=v", "a,k", "k=", "=v", "a,=v"])(
    "%j is refused with the format",
    (given) => {
      expect(() => parseSetting(given, "f")).toThrow(
        new OptionError(
          `--f option format is <name>,<setting>=<value> or <setting>=<value>. Got ${given}`,
        ),
      );
    },
  );

  test("a cache must be named", () => {
    expect(parseOwnedSetting("local,size=1", "f").owner).toBe("local");
    expect(() => parseOwnedSetting("size=1", "f")).toThrow("option format is");
  });
});

test("a key and its value are split at the first equal sign", () => {
  expect(parseKeyValue("a=b=c", "f")).toEqual({ owner: "", key: "a", value: "b=c" });
  expect(() => parseKeyValue("a", "f")).toThrow("--f option format is <setting>=<value>. Got a");
});

test("numbers of a GPU", () => {
  expect(parseGpuBytes("1:100", "f")).toEqual({ gpu: 1, bytes: 100 });
  expect(parseGpuFraction("0:0.5", "f")).toEqual({ gpu: 0, fraction: 0.5 });
  for (const bad of ["1", "1:2:3", "x:1", "1:-1"]) expect(() => parseGpuBytes(bad, "f")).toThrow();
  for (const bad of ["0:", "0:1.1", "0", "0:1:1"]) {
    expect(() => parseGpuFraction(bad, "f")).toThrow();
  }
});

test("a resource of the rate limiter may belong to one device", () => {
  expect(parseRateLimitResource("R:4", "f")).toEqual({
    resource: "R",
    count: 4,
    device: undefined,
  });
  expect(parseRateLimitResource("R:4:1", "f").device).toBe(1);
  for (const bad of ["R", ":4", "R:x", "R:1:2:3"]) {
    expect(() => parseRateLimitResource(bad, "f")).toThrow();
  }
});

test("a port range has its lower end first", () => {
  expect(parsePortRange("10-20", "f")).toEqual({ min: 10, max: 20 });
  for (const bad of ["10", "20-10", "a-b", "1-2-3"])
    expect(() => parsePortRange(bad, "f")).toThrow();
});
