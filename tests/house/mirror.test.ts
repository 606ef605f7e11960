import { describe, expect, test } from "bun:test";
import { importsOf } from "../support/imports.ts";
import { type SourceFile, sourceFiles } from "../support/source-files.ts";

/** Files, or folders with a slash at the end, that are tested through others: where. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["ffi/embedded-files.ts", "tests/conformance/test_executable.py: only an executable has any"],
  ["ffi/onnxruntime/", "tests/unit/ffi/onnxruntime/session.test.ts drives all owners together"],
  ["ffi/process-control.ts", "tests/contract/process-home.test.ts"],
  ["src/backends/identity/", "tests/contract/identity-backend.test.ts"],
  ["src/backends/onnxruntime/", "tests/contract/onnxruntime-backend.test.ts and backend.test.ts"],
  ["src/core/config/adopt-completed-config.ts", "the recorded suite's test_python_autocomplete.py"],
  ["src/core/instance/python/", "tests/contract/python-models.test.ts"],
  ["src/core/instance/", "tests/contract/instance-home.contract.ts, in Workers and processes"],
  ["src/core/scheduler/", "the simulations and scheduler tests of tests/unit/core/scheduler"],
  ["src/frontend-plans.ts", "tests/contract/program.test.ts"],
  ["src/frontends/grpc/", "tests/contract/grpc-*.contract.ts, on both paths, by real clients"],
  ["src/frontends/http/", "tests/unit/frontends/http asks every endpoint of a listening app"],
  ["src/frontends/metrics/", "tests/unit/frontends/metrics/metrics-frontend.test.ts"],
  ["src/instance-host.ts", "tests/contract/program.test.ts"],
  ["src/options/", "tests/unit/options.test.ts"],
  ["src/serve.ts", "tests/contract/program.test.ts"],
]);

const transpiler = new Bun.Transpiler({ loader: "ts" });

/** Whether anything is left to run once the types are gone: a function or a class. */
function hasLogic(text: string): boolean {
  return /\bfunction\b|=>|\bclass\b/.test(transpiler.transformSync(text));
}

/** Where the unit test of a source file lies. */
function mirrorOf(path: string): string {
  return `tests/unit/${path.replace(/^src\//, "").replace(/\.ts$/, ".test.ts")}`;
}

/** Paths of all tests, and of all files that a test imports and so tests by name. */
function testedPaths(tests: readonly SourceFile[]): ReadonlySet<string> {
  return new Set(
    tests.flatMap(({ path, text }) => [path, ...importsOf(path, text).map(({ target }) => target)]),
  );
}

/** What the rule has against a file, given what {@link testedPaths} found. */
function mirrorFaults(path: string, text: string, tested: ReadonlySet<string>): string[] {
  const mirror = mirrorOf(path);
  if (tested.has(mirror) || tested.has(path) || !hasLogic(text)) return [];
  return [`${path}: has no ${mirror}; write it, or list the file here with where it is tested`];
}

function isException(path: string): boolean {
  return [...EXCEPTIONS.keys()].some((entry) =>
    entry.endsWith("/") ? path.startsWith(entry) : path === entry,
  );
}

describe("mirror", () => {
  test("every source file with logic has its unit test at the same path, or is imported by a test", async () => {
    const tests = testedPaths(await sourceFiles("tests"));
    const faults: string[] = [];
    for (const { path, text } of await sourceFiles("src", "ffi")) {
      if (!isException(path)) faults.push(...mirrorFaults(path, text, tests));
    }
    expect(faults).toEqual([]);
  });

  test("every exception still stands for a file that would be a fault", async () => {
    const tested = testedPaths(await sourceFiles("tests"));
    const faults = (await sourceFiles("src", "ffi")).flatMap(({ path, text }) =>
      mirrorFaults(path, text, tested),
    );
    const stale = [...EXCEPTIONS.keys()].filter(
      (entry) => !faults.some((fault) => fault.startsWith(entry)),
    );
    expect(stale).toEqual([]);
  });

  test("the rule asks for a test of functions and classes, not of types and tables", () => {
    const tests = new Set(["tests/unit/base/shape.test.ts", "ffi/memory.ts"]);
    const logic = "export function f(): number { return 1; }";
    expect(mirrorFaults("src/base/shape.ts", logic, tests)).toEqual([]);
    expect(mirrorFaults("ffi/memory.ts", logic, tests)).toEqual([]);
    expect(mirrorFaults("src/base/clock.ts", "export interface C { f(): void }", tests)).toEqual(
      [],
    );
    expect(mirrorFaults("src/base/error.ts", "export class E {}", tests)).toEqual([
      expect.stringContaining("has no tests/unit/base/error.test.ts"),
    ]);
  });
});
