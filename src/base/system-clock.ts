import type { Clock } from "./clock.ts";

/** Above this, `setTimeout` with its whole milliseconds is precise enough, and it can really be cancelled. */
const LONG_DELAY_NS = 20e6;

/** setTimeout's limit; a longer wait ends early, and whoever asked looks at the clock again. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The machine's monotonic clock.
 *
 * Short waits are `Atomics.waitAsync` with a timeout: in Bun 1.4 `setTimeout` knows whole milliseconds only, at least
 * one, which would add half a millisecond to a queue delay of 500 µs. A cancelled short wait still ends, unheard.
 */
export class SystemClock implements Clock {
  /** Never notified; it is there to be waited for. */
  readonly #cell = new Int32Array(new SharedArrayBuffer(4));

  nowNs(): number {
    return Bun.nanoseconds();
  }

  after(delayNs: number, callback: () => void): () => void {
    if (delayNs > LONG_DELAY_NS) {
      const timer = setTimeout(callback, Math.min(Math.ceil(delayNs / 1e6), MAX_TIMEOUT_MS));
      return () => clearTimeout(timer);
    }
    let isCancelled = false;
    const wait = Atomics.waitAsync(this.#cell, 0, 0, Math.max(delayNs, 0) / 1e6);
    const wake = (): void => {
      if (!isCancelled) callback();
    };
    if (wait.async) void wait.value.then(wake);
    else setImmediate(wake);
    return () => {
      isCancelled = true;
    };
  }
}
