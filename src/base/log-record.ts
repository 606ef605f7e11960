import type { LogFields } from "./log.ts";

/** How much a record matters; verbose records are INFO, as in Triton. */
export type LogSeverity = "INFO" | "WARNING" | "ERROR";

/** Rows under column heads, for people. */
export interface LogTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** One record before it becomes text. */
export interface LogRecord {
  readonly severity: LogSeverity;
  /** Wall clock, ms since the epoch, with a fraction. */
  readonly timeMs: number;
  readonly pid: number;
  readonly message: string;
  readonly fields: LogFields;
  readonly table?: LogTable;
}
