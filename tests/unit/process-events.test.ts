import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { stopOnSignals, surviveUncaught } from "../../src/process-events.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

function setUp() {
  const events = new EventEmitter();
  const logger = new RecordingLogger();
  const statuses: number[] = [];
  const drain = Promise.withResolvers<number>();
  let stopCount = 0;
  const stop = () => {
    stopCount += 1;
    return drain.promise;
  };
  stopOnSignals({ events, logger, stop, exit: (status) => statuses.push(status) });
  return { events, logger, statuses, drain, stopCount: () => stopCount };
}

describe("signals", () => {
  test.each(["SIGINT", "SIGTERM"])(
    "%s drains, then exits with the status of the drain",
    async (signal) => {
      const { events, statuses, drain, stopCount } = setUp();
      events.emit(signal);
      expect([stopCount(), statuses]).toEqual([1, []]);
      drain.resolve(0);
      await drain.promise;
      expect(statuses).toEqual([0]);
    },
  );

  test("a second signal exits at once, with the status of shells", () => {
    const { events, statuses, stopCount } = setUp();
    events.emit("SIGINT");
    events.emit("SIGTERM");
    expect([stopCount(), statuses]).toEqual([1, [143]]);
  });

  test("a drain that fails is logged and exits with status 1", async () => {
    const { events, logger, statuses, drain } = setUp();
    events.emit("SIGTERM");
    drain.reject(new Error("no way"));
    await Bun.sleep(0);
    expect(statuses).toEqual([1]);
    expect(logger.records.at(-1)?.fields).toEqual({ error: "Error: no way" });
  });
});

test("what nobody caught is logged with its stack", () => {
  const events = new EventEmitter();
  const logger = new RecordingLogger();
  surviveUncaught(events, logger);
  events.emit("uncaughtException", new Error("lost"));
  events.emit("unhandledRejection", "thrown text");
  expect(logger.records).toMatchObject([
    {
      severity: "error",
      fields: {
        event: "uncaughtException",
        stack: expect.stringContaining("process-events.test.ts"),
      },
    },
    { severity: "error", fields: { event: "unhandledRejection", stack: "thrown text" } },
  ]);
});
