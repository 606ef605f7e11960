import { describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { codeWithoutText, sourceFiles } from "../support/source-files.ts";

/** Drawers, not names: a file is called by the one idea that is in it. */
const BANNED_NAMES = /(^|-)(utils?|helpers?|common|misc|types|index|impl|manager)(-|$)/;

const DURATION = /(timeout|delay|duration|interval|elapsed|latency|deadline|uptime)$/i;
const BARE_SIZE = /^(size|total)$/i;
/** A number that is declared: field, parameter or variable. */
const DECLARED_NUMBER = /\b([A-Za-z_$][\w$]*)\s*\??:\s*(?:readonly\s+)?(?:number|bigint)\b/g;

/** Names that another interface has given: Triton's, or a library's options. */
const EXCEPTIONS: readonly (readonly [path: string, name: string, reason: string])[] = [];

/** What the rules of names have against one file. */
function nameFaults(path: string, text: string): string[] {
  const faults: string[] = [];
  const stem = basename(path).replace(/\.ts$/, "");
  if (BANNED_NAMES.test(stem)) {
    faults.push(`${path}: a file name like "${stem}" says nothing; name it by its main export`);
  }
  for (const match of codeWithoutText(text).matchAll(DECLARED_NUMBER)) {
    const name = match[1] ?? "";
    if (DURATION.test(name)) {
      faults.push(
        `${path}: "${name}" is a number without a unit; end it in Ns, Microseconds or Ms`,
      );
    } else if (BARE_SIZE.test(name)) {
      faults.push(`${path}: "${name}" does not say what it counts; end it in Bytes or Count`);
    }
  }
  return faults;
}

function isException(path: string, fault: string): boolean {
  return EXCEPTIONS.some(([file, name]) => file === path && fault.includes(`"${name}"`));
}

describe("names", () => {
  test("files are named by an idea, and numbers carry their unit", async () => {
    const faults: string[] = [];
    for (const { path, text } of await sourceFiles("src", "ffi", "tests", "deploy")) {
      faults.push(...nameFaults(path, text).filter((fault) => !isException(path, fault)));
    }
    expect(faults).toEqual([]);
  });

  test("the rule lets good names through", () => {
    const good =
      "interface A { readonly queueDelayNs: number; maxBatchSize: number }\n// timeout: number";
    expect(nameFaults("src/core/queue-policy.ts", good)).toEqual([]);
  });

  test("the rule names the file, the name and what to do for bad ones", () => {
    expect(nameFaults("src/core/scheduler-utils.ts", "")).toEqual([
      expect.stringContaining("name it by its main export"),
    ]);
    expect(nameFaults("src/a.ts", "function f(timeout: number, size?: number) {}")).toEqual([
      expect.stringContaining('"timeout" is a number without a unit'),
      expect.stringContaining('"size" does not say what it counts'),
    ]);
  });
});
