import { expect, setSystemTime, test } from "bun:test";
import { preciseWallClock } from "../../../src/base/wall-clock.ts";

test("the time is that of the system within a few milliseconds", () => {
  expect(Math.abs(preciseWallClock()() - Date.now())).toBeLessThan(5);
});

test("a corrected system time is followed", () => {
  const nowMs = preciseWallClock();
  nowMs();
  try {
    setSystemTime(new Date(Date.UTC(2030, 0, 1)));
    expect(Math.abs(nowMs() - Date.UTC(2030, 0, 1))).toBeLessThan(5);
    expect(Math.abs(nowMs() - Date.now())).toBeLessThan(5);
  } finally {
    setSystemTime();
  }
});
