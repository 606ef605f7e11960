import { describe, expect, test } from "bun:test";
import type { LogRecord } from "../../../src/base/log-record.ts";
import { renderLogText } from "../../../src/base/log-text.ts";

const RECORD: LogRecord = {
  severity: "INFO",
  timeMs: Date.UTC(2026, 10, 30, 7, 5, 9) + 12.3456,
  pid: 42,
  message: "successfully loaded 'add_sub'",
  fields: {},
};

describe("how a line begins", () => {
  test("default is Triton's short form, in UTC with microseconds", () => {
    expect(renderLogText(RECORD, "default", true)).toBe(
      `I1130 07:05:09.012345 42 tribune:0] "successfully loaded 'add_sub'"\n`,
    );
  });

  test("ISO8601 has seconds", () => {
    expect(renderLogText({ ...RECORD, severity: "WARNING" }, "ISO8601", true)).toBe(
      `2026-11-30T07:05:09Z W 42 tribune:0] "successfully loaded 'add_sub'"\n`,
    );
  });
});

describe("messages", () => {
  test("control characters are escaped, so that a message stays one line", () => {
    const line = renderLogText(
      { ...RECORD, message: 'a\nI1130 "b"\u001b[2J 漢字' },
      "default",
      true,
    );
    expect(line).toEndWith(`] "a\\nI1130 \\"b\\"\\u001b[2J 漢字"\n`);
    expect(line.split("\n")).toHaveLength(2);
  });

  test("without escaping they are printed as they are", () => {
    expect(renderLogText({ ...RECORD, message: 'a\n"b"' }, "default", false)).toEndWith(
      '] a\n"b"\n',
    );
  });

  test("fields follow as key=value, quoted where they would not read well", () => {
    const fields = {
      model: "m",
      rows: 3,
      reason: 'no "x"',
      path: "a=b",
      absent: undefined,
      empty: "",
    };
    expect(renderLogText({ ...RECORD, message: "loaded", fields }, "default", true)).toEndWith(
      `] "loaded" model=m rows=3 reason="no \\"x\\"" path="a=b" empty=""\n`,
    );
  });

  test("a table follows its head on lines of its own", () => {
    const table = { columns: ["Model"], rows: [["a"]] };
    expect(renderLogText({ ...RECORD, message: "", table }, "default", true)).toEndWith(
      "] \n+-------+\n| Model |\n+-------+\n| a     |\n+-------+\n",
    );
  });
});
