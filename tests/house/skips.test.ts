import { describe, expect, test } from "bun:test";
import { codeWithoutText, sourceFiles } from "../support/source-files.ts";

const NEVER_RUN = /\b(?:test|it|describe)\.(?:skip|todo|only|failing)\b(?!If)/;
const CONDITIONAL = /\b(?:test|it|describe)\.(?:skipIf|todoIf|if)\s*\(/;
/** The printed line that tells why, `skipped: libonnxruntime.so.1 not found`, or a `…OrSkip` that prints it. */
const PRINTED_REASON = /skipped: |OrSkip\(/;

/** What the rule has against one test file. */
function skipFaults(path: string, text: string): string[] {
  const code = codeWithoutText(text);
  const faults: string[] = [];
  const never = NEVER_RUN.exec(code);
  if (never) faults.push(`${path}: "${never[0]}" hides a test; mend it, delete it, or use skipIf`);
  if (CONDITIONAL.test(code) && !PRINTED_REASON.test(text)) {
    faults.push(
      `${path}: skips silently; print a line "skipped: <what is missing>" where it skips`,
    );
  }
  return faults;
}

describe("skips", () => {
  test("no test is hidden, and each conditional skip prints its reason", async () => {
    const files = await sourceFiles("tests");
    expect(files.flatMap(({ path, text }) => skipFaults(path, text))).toEqual([]);
  });

  test("the rule takes a conditional skip with a reason", () => {
    const good =
      'if (!lib) process.stderr.write("skipped: libonnxruntime.so.1 not found\\n");\ntest.skipIf(!lib)("x", f);';
    expect(skipFaults("tests/unit/a.test.ts", good)).toEqual([]);
  });

  test("the rule refuses hidden tests and silent skips", () => {
    expect(skipFaults("a.test.ts", 'test.only("x", f);')).toHaveLength(1);
    expect(skipFaults("a.test.ts", 'describe.skip("x", f);')).toHaveLength(1);
    expect(skipFaults("a.test.ts", 'test.skipIf(!lib)("x", f);')).toEqual([
      expect.stringContaining("skips silently"),
    ]);
  });
});
