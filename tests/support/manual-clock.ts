import type { Clock } from "../../src/base/clock.ts";

interface Timer {
  readonly dueNs: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowNs = 1_000_000;
  readonly #timers = new Set<Timer>();

  nowNs(): number {
    return this.#nowNs;
  }

  after(delayNs: number, callback: () => void): () => void {
    const timer: Timer = { dueNs: this.#nowNs + delayNs, callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Timers that have not fired. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /** When the next timer fires; Infinity when there is none. */
  get nextDueNs(): number {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const timer of this.#timers) nextNs = Math.min(nextNs, timer.dueNs);
    return nextNs;
  }

  /** Moves time on, firing timers in order of their due times. */
  advance(byNs: number): void {
    const targetNs = this.#nowNs + byNs;
    while (this.nextDueNs <= targetNs) {
      const next = [...this.#timers].reduce((a, b) => (b.dueNs < a.dueNs ? b : a));
      this.#timers.delete(next);
      this.#nowNs = Math.max(this.#nowNs, next.dueNs);
      next.callback();
    }
    this.#nowNs = targetNs;
  }
}
