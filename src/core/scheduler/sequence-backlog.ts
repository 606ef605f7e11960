import { DeadlineHeap } from "./deadline-heap.ts";
import type { Sequence } from "./sequence.ts";
import { SequenceList } from "./sequence-list.ts";

/** Sequences without a slot, in the order in which they started. */
export class SequenceBacklog {
  readonly #waiting = new SequenceList();
  readonly #deadlines = new DeadlineHeap<Sequence>();

  /** The sequence that gets the next free slot. */
  get first(): Sequence | undefined {
    return this.#waiting.head;
  }

  /** The sequence that gives up first, undefined when none will. */
  get nextToExpire(): Sequence | undefined {
    return this.#deadlines.first();
  }

  /** Does nothing for a sequence that is in it. */
  add(sequence: Sequence): void {
    this.#waiting.append(sequence);
  }

  /** One of its requests waits no longer than this: a sequence gives up as a whole. */
  limit(sequence: Sequence, deadlineNs: number): void {
    if (deadlineNs >= sequence.deadlineNs) return;
    this.#deadlines.remove(sequence);
    sequence.deadlineNs = deadlineNs;
    this.#deadlines.add(sequence);
  }

  /** Does nothing for a sequence that is not in it. */
  remove(sequence: Sequence): void {
    this.#waiting.remove(sequence);
    this.#deadlines.remove(sequence);
  }

  [Symbol.iterator](): Iterator<Sequence> {
    return this.#waiting[Symbol.iterator]();
  }
}
