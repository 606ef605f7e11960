import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ORT_API_FUNCTIONS, ORT_API_VERSION } from "#ffi/onnxruntime/api-table.ts";
import { parseOrtApi } from "#ffi/onnxruntime/generate-api-table.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

/** Absolute path of onnxruntime_c_api.h, which is not committed. */
const HEADER = process.env["TRIBUNE_ONNXRUNTIME_HEADER"] ?? "/usr/include/onnxruntime_c_api.h";
const COMPILER = Bun.which("cc");

const missing = [
  ...(existsSync(HEADER) ? [] : [`no ${HEADER} (set TRIBUNE_ONNXRUNTIME_HEADER)`]),
  ...(COMPILER === null ? ["no C compiler"] : []),
].join(", ");
if (missing !== "") process.stderr.write(`skipped: slots against the header: ${missing}\n`);

test("the table is in header order, and no slot is used twice", () => {
  const slots = Object.values(ORT_API_FUNCTIONS).map(({ index }) => index);
  expect(slots).toEqual([...new Set(slots)].sort((a, b) => a - b));
});

test("no function is newer than the header", () => {
  for (const { since } of Object.values(ORT_API_FUNCTIONS)) {
    expect(since).toBeLessThanOrEqual(ORT_API_VERSION);
  }
});

test.skipIf(missing !== "")("a C compiler puts every member where the table says", () => {
  using folder = new TemporaryFolder();
  const rows = Object.entries(ORT_API_FUNCTIONS);
  const source = folder.file(
    "offsets.c",
    `#include <stddef.h>\n#include <stdio.h>\n#include ${JSON.stringify(HEADER)}\n` +
      `int main(void) {\n${rows
        .map(([name]) => `  printf("%zu\\n", offsetof(OrtApi, ${name}) / sizeof(void*));\n`)
        .join("")}  return 0;\n}\n`,
  );
  const program = join(folder.path, "offsets");
  const compiled = Bun.spawnSync([COMPILER ?? "cc", "-w", "-o", program, source]);
  expect(compiled.stderr.toString()).toBe("");
  const offsets = Bun.spawnSync([program]).stdout.toString().trim().split("\n").map(Number);
  const fromTable = rows.map(([name, { index }]) => [name, index]);
  expect(rows.map(([name], i) => [name, offsets[i]])).toEqual(fromTable);
});

test.skipIf(missing !== "")(
  "the generator still reads every slot of the header as we have it",
  () => {
    const { apiVersion, functions } = parseOrtApi(readFileSync(HEADER, "utf8"));
    expect(apiVersion).toBeGreaterThanOrEqual(17);
    const slots = new Map(functions.map(({ name, index }) => [name, index]));
    for (const [name, { index }] of Object.entries(ORT_API_FUNCTIONS)) {
      expect([name, slots.get(name)]).toEqual([name, index]);
    }
  },
);
