import type { LogSeverity } from "./log-record.ts";

/** Where lines of the log go. */
export interface LogOutput {
  /** @param line with its line break. Never throws: a reader that went away must not stop the server. */
  write(severity: LogSeverity, line: string): void;
  /** Nothing is written afterwards. Idempotent. */
  close(): void;
}
