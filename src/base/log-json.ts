import type { LogRecord, LogTable } from "./log-record.ts";
import { fractionText, secondsText } from "./log-text.ts";

/** Members that every record has; fields of the same name are left out. */
const OWN_MEMBERS = new Set(["time", "severity", "pid", "message", "table"]);

function tableRows({ columns, rows }: LogTable): readonly Readonly<Record<string, string>>[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map((column, at) => [column.toLowerCase(), row[at] ?? ""])),
  );
}

/** One record as one line of JSON, line break included. Fields are members beside time, severity, pid and message. */
export function renderLogJson(record: LogRecord): string {
  const fields = Object.entries(record.fields).filter(([key]) => !OWN_MEMBERS.has(key));
  const line = JSON.stringify({
    time: `${secondsText(record.timeMs)}${fractionText(record.timeMs)}Z`,
    severity: record.severity,
    pid: record.pid,
    message: record.message,
    table: record.table === undefined ? undefined : tableRows(record.table),
    ...Object.fromEntries(fields),
  });
  return `${line}\n`;
}
