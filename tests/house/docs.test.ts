import { describe, expect, test } from "bun:test";
import { sourceFiles } from "../support/source-files.ts";

const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let) +([\w$]+)/;

/** Exported names without a doc comment right above them. */
function undocumented(path: string, text: string): string[] {
  const lines = text.split("\n");
  const faults: string[] = [];
  let documentedOverload = "";
  lines.forEach((line, at) => {
    const name = EXPORTED.exec(line)?.[1];
    if (name === undefined) return;
    if (lines[at - 1]?.trimEnd().endsWith("*/")) documentedOverload = name;
    else if (name !== documentedOverload) {
      faults.push(`${path}:${at + 1}: exported "${name}" has no doc comment; say what it is for`);
    }
  });
  return faults;
}

describe("docs", () => {
  test("every exported name of src and ffi has a doc comment", async () => {
    const files = await sourceFiles("src", "ffi");
    expect(files.flatMap(({ path, text }) => undocumented(path, text))).toEqual([]);
  });

  test("the rules let good samples through", () => {
    expect(undocumented("a.ts", "/** One. */\nexport const a = 1;\nconst b = 2;")).toEqual([]);
    expect(
      undocumented("a.ts", "/** F. */\nexport function f(a: 1): 1;\nexport function f(a: 2): 2 {}"),
    ).toEqual([]);
  });

  test("the rules name file, line and what to do for bad ones", () => {
    expect(undocumented("a.ts", "\nexport class Slab {}")).toEqual([
      'a.ts:2: exported "Slab" has no doc comment; say what it is for',
    ]);
  });
});
