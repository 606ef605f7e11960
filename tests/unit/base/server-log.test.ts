import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../src/base/error.ts";
import type { LogSettings } from "../../../src/base/log.ts";
import type { LogOutput } from "../../../src/base/log-output.ts";
import type { LogSeverity } from "../../../src/base/log-record.ts";
import { ServerLog } from "../../../src/base/server-log.ts";

const SETTINGS: LogSettings = {
  logFile: "",
  logInfo: true,
  logWarning: true,
  logError: true,
  logVerboseLevel: 0,
  logFormat: "default",
};

class LinesOutput implements LogOutput {
  readonly lines: [LogSeverity, string][] = [];

  write(severity: LogSeverity, line: string): void {
    this.lines.push([severity, line.replace(/^.*\] /, "").trimEnd()]);
  }

  close(): void {
    this.lines.length = 0;
  }
}

function newLog(settings: Partial<LogSettings> = {}) {
  const output = new LinesOutput();
  const log = new ServerLog({
    settings: { ...SETTINGS, ...settings },
    output,
    escapeMessages: true,
    pid: 1,
    nowMs: () => 0,
  });
  return { log, lines: output.lines };
}

describe("levels", () => {
  test("each kind of record goes out with its severity, verbose ones as INFO", () => {
    const { log, lines } = newLog({ logVerboseLevel: 1 });
    log.error("e");
    log.warning("w");
    log.info("i");
    log.verbose(1, "v");
    expect(lines).toEqual([
      ["ERROR", '"e"'],
      ["WARNING", '"w"'],
      ["INFO", '"i"'],
      ["INFO", '"v"'],
    ]);
  });

  test("what is switched off is not written", () => {
    const { log, lines } = newLog({ logInfo: false, logWarning: false, logError: false });
    log.error("e");
    log.warning("w");
    log.info("i");
    log.table("t", { columns: ["a"], rows: [] });
    log.verbose(1, "v");
    expect(lines).toEqual([]);
  });

  test("verbose records up to the level are written", () => {
    const { log, lines } = newLog({ logVerboseLevel: 2 });
    log.verbose(2, "two");
    log.verbose(3, "three");
    expect(lines).toEqual([["INFO", '"two"']]);
  });
});

describe("changes while running", () => {
  test("a change answers with all settings and lasts", () => {
    const { log, lines } = newLog();
    expect(log.update({ logVerboseLevel: 1 })).toEqual({ ...SETTINGS, logVerboseLevel: 1 });
    expect(log.settings.logVerboseLevel).toBe(1);
    log.verbose(1, "v");
    expect(lines).toHaveLength(1);
  });

  test("the format may change between two lines", () => {
    const { log, lines } = newLog();
    log.update({ logFormat: "json" });
    log.info("i");
    expect(lines[0]?.[1]).toStartWith("{");
  });

  test("an unknown format is refused with Triton's words and changes nothing", () => {
    const { log } = newLog();
    expect(() => log.update({ logFormat: "foo", logInfo: false })).toThrow(
      new InferenceError("INVALID_ARG", "invalid argument for --log_format, got: foo"),
    );
    expect(log.settings).toEqual(SETTINGS);
  });

  test("the file cannot be changed", () => {
    const { log } = newLog();
    expect(() => log.update({ logFile: "/tmp/x" })).toThrow("log file location can not be updated");
  });
});
