import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { REPOSITORY_ROOT, sourceFiles } from "../support/source-files.ts";

const README_MIN_LINES = 5;
const README_MAX_LINES = 15;

/** Folders that owe a README: those of core, backends, frontends and ffi, and ffi itself. */
function owesReadme(folder: string): boolean {
  return /^src\/(core|backends|frontends)\/[^/]+$/.test(folder) || /^ffi(\/[^/]+)?$/.test(folder);
}

/** What is wrong with a folder's README, given its text (undefined: there is none). */
function readmeFaults(folder: string, text: string | undefined): string[] {
  const wanted = "charge, what it must not know, where to start reading";
  if (text === undefined) return [`${folder}: README.md is missing; ${wanted}`];
  const lines = text.trim().split("\n").length;
  if (lines >= README_MIN_LINES && lines <= README_MAX_LINES) return [];
  const allowed = `${README_MIN_LINES} to ${README_MAX_LINES}`;
  return [`${folder}/README.md: has ${lines} lines, allowed are ${allowed}: ${wanted}`];
}

describe("readmes", () => {
  test("every folder of core, backends, frontends and ffi says what it is", async () => {
    const folders = new Set((await sourceFiles("src", "ffi")).map(({ path }) => dirname(path)));
    const faults = [...folders].filter(owesReadme).flatMap((folder) => {
      const path = `${REPOSITORY_ROOT}${folder}/README.md`;
      return readmeFaults(folder, existsSync(path) ? readFileSync(path, "utf8") : undefined);
    });
    expect(faults).toEqual([]);
  });

  test("the rule takes a short README", () => {
    expect(readmeFaults("ffi", "1\n2\n3\n4\n5\n6")).toEqual([]);
  });

  test("the rule names the folder and what to write where there is none, or a long one", () => {
    expect(readmeFaults("src/core/memory", undefined)).toHaveLength(1);
    expect(readmeFaults("ffi", "one line")).toEqual([
      expect.stringContaining("allowed are 5 to 15"),
    ]);
  });
});
