/** Values after the fixed message of a record, printed as `key=value` or as JSON members. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where the parts of the server report to. Passed in through constructors; there is no global logger. */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** @param level 1 and up; printed when `--log-verbose` is at least this. */
  verbose(level: number, message: string, fields?: LogFields): void;
}

/** What the logging extension shows and changes. */
export interface LogSettings {
  /** "" = console. */
  readonly logFile: string;
  readonly logInfo: boolean;
  readonly logWarning: boolean;
  readonly logError: boolean;
  readonly logVerboseLevel: number;
  /** `default`, `ISO8601` or `json`. */
  readonly logFormat: string;
}
