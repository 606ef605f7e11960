import type { Clock } from "../../base/clock.ts";

const FIRST_DELAY_NS = 20e6;
const LONGEST_DELAY_NS = 30e9;

/** A host that lived this long is taken to have been healthy. */
const HEALTHY_NS = 60e9;

/** How long to wait before a crashed host is started again: twice as long each time, unless it had lived well. */
export class RestartBackoff {
  readonly #clock: Pick<Clock, "nowNs">;
  #startedNs: number | undefined;
  #delayNs = FIRST_DELAY_NS;

  constructor(clock: Pick<Clock, "nowNs">) {
    this.#clock = clock;
  }

  /** A host has become ready. */
  started(): void {
    this.#startedNs = this.#clock.nowNs();
  }

  /** A host has crashed, or could not be started. @returns how long to wait before the next try. */
  nextDelayNs(): number {
    const livedNs = this.#startedNs === undefined ? 0 : this.#clock.nowNs() - this.#startedNs;
    this.#startedNs = undefined;
    if (livedNs >= HEALTHY_NS) this.#delayNs = FIRST_DELAY_NS;
    const delayNs = this.#delayNs;
    this.#delayNs = Math.min(delayNs * 2, LONGEST_DELAY_NS);
    return delayNs;
  }
}
