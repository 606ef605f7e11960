import type { Clock } from "../../base/clock.ts";
import { Alarm } from "./alarm.ts";
import type { Sequence } from "./sequence.ts";
import { SequenceList } from "./sequence-list.ts";

/** Sequences that wait for their client, and the end of those that wait too long. */
export class SequenceIdleness {
  /** Longest idle first. */
  readonly #idle = new SequenceList();
  readonly #maxIdleNs: number;
  readonly #onExpired: (sequence: Sequence) => void;
  readonly #alarm: Alarm;

  /** @param onExpired gets each sequence once; it is no longer idle then. */
  constructor(clock: Clock, maxIdleNs: number, onExpired: (sequence: Sequence) => void) {
    this.#maxIdleNs = maxIdleNs;
    this.#onExpired = onExpired;
    this.#alarm = new Alarm(clock, (nowNs) => this.#expire(nowNs));
  }

  add(sequence: Sequence, nowNs: number): void {
    sequence.idleNs = nowNs;
    this.#idle.append(sequence);
    // A set alarm rings for a sequence that became idle earlier, and looks again then.
    if (this.#alarm.atNs === Number.POSITIVE_INFINITY) this.#alarm.set(nowNs + this.#maxIdleNs);
  }

  /** Does nothing for a sequence that is not idle. */
  remove(sequence: Sequence): void {
    this.#idle.remove(sequence);
  }

  /** Ends nobody any more. */
  stop(): void {
    this.#alarm.set(Number.POSITIVE_INFINITY);
  }

  #expire(nowNs: number): void {
    for (let sequence = this.#idle.head; sequence !== undefined; sequence = this.#idle.head) {
      const dueNs = sequence.idleNs + this.#maxIdleNs;
      if (dueNs > nowNs) {
        this.#alarm.set(dueNs);
        return;
      }
      this.#idle.remove(sequence);
      this.#onExpired(sequence);
    }
  }
}
