import type { LogFields, Logger } from "../../src/base/log.ts";

/** One record that a {@link RecordingLogger} got. */
export interface LogRecord {
  readonly severity: "error" | "warning" | "info" | "verbose";
  readonly message: string;
  readonly fields: LogFields;
}

/** Keeps what it is told, for tests to look at. */
export class RecordingLogger implements Logger {
  readonly records: LogRecord[] = [];

  error(message: string, fields: LogFields = {}): void {
    this.records.push({ severity: "error", message, fields });
  }

  warning(message: string, fields: LogFields = {}): void {
    this.records.push({ severity: "warning", message, fields });
  }

  info(message: string, fields: LogFields = {}): void {
    this.records.push({ severity: "info", message, fields });
  }

  verbose(_level: number, message: string, fields: LogFields = {}): void {
    this.records.push({ severity: "verbose", message, fields });
  }

  /** Messages of one severity, in order. */
  messages(severity: LogRecord["severity"]): readonly string[] {
    return this.records.filter((r) => r.severity === severity).map((r) => r.message);
  }
}
