import { expect, test } from "bun:test";
import { selectVersions } from "../../../../src/core/repository/version-policy.ts";

test("latest takes the highest numbers on disk", () => {
  expect(selectVersions({ kind: "latest", versionCount: 2 }, [10, 1, 2]).selected).toEqual([2, 10]);
  expect(selectVersions({ kind: "latest", versionCount: 9 }, [1, 2]).selected).toEqual([1, 2]);
});

test("latest with no version asked for selects none", () => {
  expect(selectVersions({ kind: "latest", versionCount: 0 }, [1, 2]).selected).toEqual([]);
});

test("all takes every version, ascending", () => {
  expect(selectVersions({ kind: "all" }, [3, 1, 2]).selected).toEqual([1, 2, 3]);
});

test("specific takes those on disk and tells which are missing", () => {
  expect(selectVersions({ kind: "specific", versions: [5, 2] }, [1, 2])).toEqual({
    selected: [2],
    missing: [5],
  });
});
