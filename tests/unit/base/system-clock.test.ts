import { expect, test } from "bun:test";
import { SystemClock } from "../../../src/base/system-clock.ts";

const MS = 1_000_000;

test("a short delay ends after the delay, a cancelled one never", async () => {
  const clock = new SystemClock();
  const startedNs = clock.nowNs();
  let wasCancelledFired = false;
  const cancel = clock.after(0.2 * MS, () => {
    wasCancelledFired = true;
  });
  cancel();
  cancel();
  await new Promise<void>((resolve) => clock.after(0.5 * MS, resolve));
  expect(clock.nowNs() - startedNs).toBeGreaterThanOrEqual(0.5 * MS);
  expect(wasCancelledFired).toBe(false);
});

test("a long delay fires too, and can be cancelled", async () => {
  const clock = new SystemClock();
  let firedCount = 0;
  clock.after(21 * MS, () => firedCount++);
  clock.after(21 * MS, () => firedCount++)();
  await new Promise<void>((resolve) => clock.after(40 * MS, resolve));
  expect(firedCount).toBe(1);
});
