import { expect, test } from "bun:test";
import { Alarm } from "../../../../src/core/scheduler/alarm.ts";
import { ManualClock } from "../../../support/manual-clock.ts";

function alarmOn(clock: ManualClock): { alarm: Alarm; rings: number[] } {
  const rings: number[] = [];
  const startNs = clock.nowNs();
  return { alarm: new Alarm(clock, (nowNs) => rings.push(nowNs - startNs)), rings };
}

test("an alarm rings once, at the time that was set last", () => {
  const clock = new ManualClock();
  const { alarm, rings } = alarmOn(clock);
  alarm.set(clock.nowNs() + 50);
  alarm.set(clock.nowNs() + 80);
  alarm.set(clock.nowNs() + 30);
  expect(clock.timerCount).toBe(1);
  clock.advance(100);
  expect(rings).toEqual([30]);
  expect([alarm.atNs, clock.timerCount]).toEqual([Number.POSITIVE_INFINITY, 0]);
});

test("an alarm that is taken back does not ring", () => {
  const clock = new ManualClock();
  const { alarm, rings } = alarmOn(clock);
  alarm.set(clock.nowNs() + 50);
  alarm.set(Number.POSITIVE_INFINITY);
  clock.advance(100);
  expect([rings, clock.timerCount]).toEqual([[], 0]);
});

test("an alarm waits longer than the event loop's timers can", () => {
  const clock = new ManualClock();
  const { alarm, rings } = alarmOn(clock);
  const longNs = 60 * 86_400 * 1e9;
  alarm.set(clock.nowNs() + longNs);
  expect(clock.nextDueNs - clock.nowNs()).toBeLessThan(2 ** 31 * 1e6);
  clock.advance(longNs - 1);
  expect(rings).toEqual([]);
  clock.advance(1);
  expect(rings).toEqual([longNs]);
});
