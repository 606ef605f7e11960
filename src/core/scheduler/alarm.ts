import type { Clock } from "../../base/clock.ts";

/** The event loop's timers cannot wait much longer than three weeks; longer waits are made of such pieces. */
const LONGEST_WAIT_NS = 1e6 * 1e9;

/** One timer on a clock that can be moved. */
export class Alarm {
  readonly #clock: Clock;
  readonly #onRing: (nowNs: number) => void;
  readonly #onTimer = (): void => this.#ring();
  #cancelTimer: (() => void) | undefined;
  #atNs = Number.POSITIVE_INFINITY;

  /** @param onRing called once for each time that was set and reached. */
  constructor(clock: Clock, onRing: (nowNs: number) => void) {
    this.#clock = clock;
    this.#onRing = onRing;
  }

  /** When it will ring; Infinity = not at all. */
  get atNs(): number {
    return this.#atNs;
  }

  /** Forgets what was set before. @param atNs Infinity = never. */
  set(atNs: number): void {
    if (atNs === this.#atNs) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#atNs = atNs;
    if (atNs !== Number.POSITIVE_INFINITY) this.#wait(this.#clock.nowNs());
  }

  #wait(nowNs: number): void {
    const delayNs = Math.min(LONGEST_WAIT_NS, Math.max(0, this.#atNs - nowNs));
    this.#cancelTimer = this.#clock.after(delayNs, this.#onTimer);
  }

  #ring(): void {
    const nowNs = this.#clock.nowNs();
    if (nowNs < this.#atNs) {
      this.#wait(nowNs);
      return;
    }
    this.#cancelTimer = undefined;
    this.#atNs = Number.POSITIVE_INFINITY;
    this.#onRing(nowNs);
  }
}
