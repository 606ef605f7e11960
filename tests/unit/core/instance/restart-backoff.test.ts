import { expect, test } from "bun:test";
import { RestartBackoff } from "../../../../src/core/instance/restart-backoff.ts";
import { ManualClock } from "../../../support/manual-clock.ts";

const MS = 1e6;
const MINUTE_NS = 60e9;

test("each crash in a row waits twice as long, up to half a minute", () => {
  const backoff = new RestartBackoff(new ManualClock());
  const delaysMs = Array.from({ length: 13 }, () => backoff.nextDelayNs() / MS);
  expect(delaysMs.slice(0, 4)).toEqual([20, 40, 80, 160]);
  expect(delaysMs.slice(-2)).toEqual([30_000, 30_000]);
});

test("a host that lived well is started again at once, one that did not is not", () => {
  const clock = new ManualClock();
  const backoff = new RestartBackoff(clock);
  for (let i = 0; i < 3; i++) backoff.nextDelayNs();
  backoff.started();
  clock.advance(MINUTE_NS / 2);
  expect(backoff.nextDelayNs()).toBe(160 * MS);
  backoff.started();
  clock.advance(MINUTE_NS);
  expect(backoff.nextDelayNs()).toBe(20 * MS);
});
