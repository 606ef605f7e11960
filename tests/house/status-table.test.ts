import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import type { ErrorCode } from "../../src/base/error.ts";
import { STATUS_TABLE } from "../../src/frontends/status.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Statuses that somebody might be tempted to write down. */
const HTTP_STATUS_LITERAL =
  /(?<![\w.])(20[0-6]|30[0-8]|40[0-9]|41[0-8]|42[0-9]|431|451|50[0-5])(?![\w.])/;
const STATUS_ASSIGNMENT = /\bstatus\w*\s*[:=(]\s*[1-5]\d\d\b/i;

/** The code alone: comments and the contents of strings are blanked. */
function codeOf(source: string): string {
  return source.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g,
    (part) => (part.startsWith("`") ? part.replace(/[^\n$`]/g, " ") : '""'),
  );
}

/** What the rule has against one file; empty when nothing. */
function statusNumbersIn(path: string, source: string): string[] {
  const rule = path.startsWith("src/frontends/") ? HTTP_STATUS_LITERAL : STATUS_ASSIGNMENT;
  const found = codeOf(source).match(rule);
  return found
    ? [
        `${path}: "${found[0]}" looks like a status number; name it in src/frontends/status.ts and use that name`,
      ]
    : [];
}

describe("the status table", () => {
  test("has a row with both wire forms for every ErrorCode", () => {
    const codes: Record<ErrorCode, true> = {
      INVALID_ARG: true,
      NOT_FOUND: true,
      ALREADY_EXISTS: true,
      UNAVAILABLE: true,
      UNSUPPORTED: true,
      CANCELLED: true,
      INTERNAL: true,
      UNKNOWN: true,
    };
    expect(Object.keys(STATUS_TABLE).sort()).toEqual(Object.keys(codes).sort());
    for (const row of Object.values(STATUS_TABLE)) {
      expect(row.http).toBeGreaterThanOrEqual(400);
      expect(row.http).toBeLessThan(600);
      expect(row.grpc).toBeGreaterThan(0);
      expect(row.grpc).toBeLessThanOrEqual(16);
    }
  });

  test("is the only place of status numbers in src", async () => {
    const faults: string[] = [];
    for await (const path of new Glob("src/**/*.ts").scan({ cwd: ROOT })) {
      if (path === "src/frontends/status.ts") continue;
      faults.push(...statusNumbersIn(path, await Bun.file(`${ROOT}${path}`).text()));
    }
    expect(faults).toEqual([]);
  });

  test("the rule sees a number in code and none in comments, strings and other numbers", () => {
    const frontend = "src/frontends/http/x.ts";
    expect(statusNumbersIn(frontend, "new Response(null, { status: 404 })")).toHaveLength(1);
    expect(statusNumbersIn(frontend, "// 404\nconst a = 'status 404'; const b = 4040;")).toEqual(
      [],
    );
    expect(statusNumbersIn("src/core/x.ts", "const rows = 500;")).toEqual([]);
    expect(statusNumbersIn("src/core/x.ts", "const statusCode = 500;")).toHaveLength(1);
  });
});
