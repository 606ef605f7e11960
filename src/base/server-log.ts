import { InferenceError } from "./error.ts";
import type { LogFields, Logger, LogSettings } from "./log.ts";
import { renderLogJson } from "./log-json.ts";
import type { LogOutput } from "./log-output.ts";
import type { LogRecord, LogSeverity, LogTable } from "./log-record.ts";
import { renderLogText } from "./log-text.ts";

/** How a {@link ServerLog} starts. */
export interface ServerLogOptions {
  readonly settings: LogSettings;
  readonly output: LogOutput;
  /** Whether messages are printed as JSON strings (text formats). */
  readonly escapeMessages: boolean;
  readonly pid: number;
  /** Wall clock, ms since the epoch. */
  readonly nowMs: () => number;
}

const FORMATS = ["default", "ISO8601", "json"];

/** The logger of the process: renders records as the settings say, which may change at any time. */
export class ServerLog implements Logger {
  readonly #output: LogOutput;
  readonly #escapeMessages: boolean;
  readonly #pid: number;
  readonly #nowMs: () => number;
  #settings: LogSettings;

  constructor(options: ServerLogOptions) {
    this.#output = options.output;
    this.#escapeMessages = options.escapeMessages;
    this.#pid = options.pid;
    this.#nowMs = options.nowMs;
    this.#settings = options.settings;
  }

  get settings(): LogSettings {
    return this.#settings;
  }

  /**
   * Changes what is given and leaves the rest.
   * @returns all settings after the change.
   * @throws InferenceError where a value is not allowed; nothing is changed then.
   */
  update(change: Partial<LogSettings>): LogSettings {
    if (change.logFile !== undefined) {
      throw new InferenceError(
        "UNSUPPORTED",
        "log file location can not be updated through network protocol",
      );
    }
    if (change.logFormat !== undefined && !FORMATS.includes(change.logFormat)) {
      throw new InferenceError(
        "INVALID_ARG",
        `invalid argument for --log_format, got: ${change.logFormat}`,
      );
    }
    this.#settings = { ...this.#settings, ...change };
    return this.#settings;
  }

  error(message: string, fields: LogFields = {}): void {
    if (this.#settings.logError) this.#write("ERROR", message, fields);
  }

  warning(message: string, fields: LogFields = {}): void {
    if (this.#settings.logWarning) this.#write("WARNING", message, fields);
  }

  info(message: string, fields: LogFields = {}): void {
    if (this.#settings.logInfo) this.#write("INFO", message, fields);
  }

  verbose(level: number, message: string, fields: LogFields = {}): void {
    if (level <= this.#settings.logVerboseLevel) this.#write("INFO", message, fields);
  }

  /** Prints rows under heads, at level INFO. In JSON each row is an object in the member `table`. */
  table(message: string, table: LogTable): void {
    if (this.#settings.logInfo) this.#write("INFO", message, {}, table);
  }

  #write(severity: LogSeverity, message: string, fields: LogFields, table?: LogTable): void {
    const record: LogRecord = {
      severity,
      timeMs: this.#nowMs(),
      pid: this.#pid,
      message,
      fields,
      ...(table === undefined ? {} : { table }),
    };
    const { logFormat } = this.#settings;
    const line =
      logFormat === "json"
        ? renderLogJson(record)
        : renderLogText(
            record,
            logFormat === "ISO8601" ? "ISO8601" : "default",
            this.#escapeMessages,
          );
    this.#output.write(severity, line);
  }
}
