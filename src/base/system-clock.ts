import type { Clock } from "./clock.ts";

const NS_PER_MS = 1_000_000;

/** From here on the event loop's own timers are precise enough; they count in whole milliseconds. */
const COARSE_FROM_NS = 20 * NS_PER_MS;

/**
 * The machine's clock. Short delays are waited for by `Atomics.waitAsync`, because `setTimeout` takes at least 1.1 ms
 * and rounds to whole milliseconds; with a timer slack of 1 µs the wait ends about 20-40 µs late.
 */
export class SystemClock implements Clock {
  nowNs(): number {
    return Bun.nanoseconds();
  }

  after(delayNs: number, callback: () => void): () => void {
    if (delayNs >= COARSE_FROM_NS) {
      const timer = setTimeout(callback, Math.ceil(delayNs / NS_PER_MS));
      return () => clearTimeout(timer);
    }
    return afterShortDelay(delayNs, callback);
  }
}

function afterShortDelay(delayNs: number, callback: () => void): () => void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let isOver = false;
  const wait = Atomics.waitAsync(cell, 0, 0, delayNs / NS_PER_MS);
  const onWake = (): void => {
    if (isOver) return;
    isOver = true;
    callback();
  };
  if (wait.async) void wait.value.then(onWake);
  else setImmediate(onWake);
  return () => {
    if (isOver) return;
    isOver = true;
    // Wakes the waiter, so that nothing is left waiting for the rest of the delay.
    Atomics.notify(cell, 0);
  };
}
