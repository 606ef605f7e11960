import { expect, test } from "bun:test";
import { SystemClock } from "../../../src/base/system-clock.ts";

const clock = new SystemClock();

function waited(delayNs: number): Promise<number> {
  const startNs = clock.nowNs();
  return new Promise((resolve) => clock.after(delayNs, () => resolve(clock.nowNs() - startNs)));
}

test("a timer never fires early, whatever its length", async () => {
  for (const delayNs of [0, 100e3, 500e3, 5e6, 30e6]) {
    expect(await waited(delayNs)).toBeGreaterThanOrEqual(delayNs - 20e3);
  }
});

test("short waits are far more precise than a millisecond", async () => {
  const waits: number[] = [];
  for (let i = 0; i < 50; i++) waits.push(await waited(300e3));
  // The quickest of many: what the machine does beside must not count.
  expect(Math.min(...waits)).toBeLessThan(900e3);
});

test("a cancelled timer is silent, and cancelling again is harmless", async () => {
  let fireCount = 0;
  for (const delayNs of [0, 200e3, 25e6]) {
    const cancel = clock.after(delayNs, () => {
      fireCount += 1;
    });
    cancel();
    cancel();
  }
  await waited(30e6);
  expect(fireCount).toBe(0);
});
