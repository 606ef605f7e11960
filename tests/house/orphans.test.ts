import { describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { importsOf } from "../support/imports.ts";
import { type SourceFile, sourceFiles } from "../support/source-files.ts";

/** Files that the runtime starts, not another file. */
const ROOTS = new Set(["src/main.ts", "src/instance-host.ts"]);

/** Files that nothing imports yet, and why they stay. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["ffi/onnxruntime/generate-api-table.ts", "run by hand when the header changes"],
]);

/** Files that are imported by no other of the given files and are no roots. */
function orphans(files: readonly SourceFile[]): string[] {
  const imported = new Set(
    files.flatMap(({ path, text }) => importsOf(path, text).map(({ target }) => target)),
  );
  return files
    .map(({ path }) => path)
    .filter((path) => !imported.has(path) && !ROOTS.has(path) && !path.endsWith(".d.ts"))
    .map((path) => `${path}: nothing imports it; use it or delete it`);
}

describe("orphans", () => {
  test("every file of src and ffi is imported by another of them", async () => {
    const faults = orphans(await sourceFiles("src", "ffi"));
    expect(faults.filter((fault) => !EXCEPTIONS.has(fault.split(":")[0] ?? ""))).toEqual([]);
  });

  test("every file of tests/support is imported, or at least named, by a test", async () => {
    const files = await sourceFiles("tests");
    // A program that a test starts as a process is named in a path.
    const isNamed = (path: string) =>
      files.some((file) => file.path !== path && file.text.includes(basename(path)));
    const faults = orphans(files).filter((fault) => fault.startsWith("tests/support/"));
    expect(faults.filter((fault) => !isNamed(fault.split(":")[0] ?? ""))).toEqual([]);
  });

  test("the rule sees the file that nothing imports, and takes a Worker's URL for an import", () => {
    const main = {
      path: "src/main.ts",
      text: 'import { a } from "./a.ts";\nnew Worker(new URL("./w.ts", import.meta.url));',
    };
    const files = ["src/a.ts", "src/w.ts", "src/left.ts"].map((path) => ({ path, text: "" }));
    expect(orphans([main, ...files])).toEqual([
      "src/left.ts: nothing imports it; use it or delete it",
    ]);
  });
});
