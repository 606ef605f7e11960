import { expect, test } from "bun:test";
import { renderLogJson } from "../../../src/base/log-json.ts";
import type { LogRecord } from "../../../src/base/log-record.ts";

const RECORD: LogRecord = {
  severity: "ERROR",
  timeMs: Date.UTC(2026, 10, 30, 7, 5, 9) + 12.3456,
  pid: 42,
  message: 'a\n"b"',
  fields: { model: "m", rows: 3 },
};

test("a record is one line of JSON with its fields beside time, severity, pid and message", () => {
  const line = renderLogJson(RECORD);
  expect(line.split("\n")).toHaveLength(2);
  expect(JSON.parse(line)).toEqual({
    time: "2026-11-30T07:05:09.012345Z",
    severity: "ERROR",
    pid: 42,
    message: 'a\n"b"',
    model: "m",
    rows: 3,
  });
});

test("a field cannot take the place of a member that every record has", () => {
  const line = renderLogJson({
    ...RECORD,
    fields: { severity: "INFO", time: "never", model: "m" },
  });
  expect(JSON.parse(line)).toMatchObject({ severity: "ERROR", model: "m" });
  expect(line).not.toContain("never");
});

test("the rows of a table are objects", () => {
  const table = { columns: ["Model", "Version"], rows: [["a", "1"]] };
  expect(JSON.parse(renderLogJson({ ...RECORD, table, fields: {} })).table).toEqual([
    { model: "a", version: "1" },
  ]);
});
