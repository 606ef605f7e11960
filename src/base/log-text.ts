import type { LogFields } from "./log.ts";
import type { LogRecord } from "./log-record.ts";
import { formatTable } from "./log-table.ts";

/** The two forms of Triton's log lines. */
export type TextFormat = "default" | "ISO8601";

/**
 * What stands where Triton names its source file and line, so that programs that take lines apart find four parts.
 * Messages are constant strings: they are searched for, not their line numbers.
 */
const SOURCE = "tribune:0";

function digits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}

/** Microseconds within the second, `.123456`. */
export function fractionText(timeMs: number): string {
  return `.${digits(Math.floor((timeMs % 1000) * 1000), 6)}`;
}

/** `YYYY-MM-DDThh:mm:ss` in UTC. */
export function secondsText(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19);
}

function prefix({ severity, timeMs, pid }: LogRecord, format: TextFormat): string {
  const letter = severity.charAt(0);
  if (format === "ISO8601") return `${secondsText(timeMs)}Z ${letter} ${pid} ${SOURCE}] `;
  const [year, month, rest] = secondsText(timeMs).split("-");
  const [day, time] = (rest ?? "").split("T");
  if (year === undefined) return "";
  return `${letter}${month}${day} ${time}${fractionText(timeMs)} ${pid} ${SOURCE}] `;
}

/** Text that reads well without quotes. */
const PLAIN_VALUE = /^[^\s"=\\\p{Cc}]+$/u;

function fieldsText(fields: LogFields): string {
  let text = "";
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const shown =
      typeof value !== "string" || PLAIN_VALUE.test(value) ? value : JSON.stringify(value);
    text += ` ${key}=${shown}`;
  }
  return text;
}

/**
 * One record as Triton prints it, line break included: `I1201 02:40:08.123456 4242 tribune:0] "message" key=value`.
 * @param escapeMessages print messages as JSON strings, so that what a client sent cannot fake a line. Tables never are.
 */
export function renderLogText(
  record: LogRecord,
  format: TextFormat,
  escapeMessages: boolean,
): string {
  const table = record.table === undefined ? "" : `\n${formatTable(record.table)}`;
  const message =
    record.table === undefined && escapeMessages ? JSON.stringify(record.message) : record.message;
  return `${prefix(record, format)}${message}${fieldsText(record.fields)}${table}\n`;
}
