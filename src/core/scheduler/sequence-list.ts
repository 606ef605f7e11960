import type { Sequence } from "./sequence.ts";

/**
 * A doubly linked list of sequences. A sequence waits for one thing at a time (a slot, its instance, its client), so
 * it is in one list at most and carries the links itself. A `Set` would do the same, but its first element costs
 * more the more were taken out before it.
 */
export class SequenceList {
  #head: Sequence | undefined;
  #tail: Sequence | undefined;

  /** The sequence that is in it longest. */
  get head(): Sequence | undefined {
    return this.#head;
  }

  has(sequence: Sequence): boolean {
    return sequence.list === this;
  }

  /** Does nothing for a sequence that is in it. */
  append(sequence: Sequence): void {
    if (sequence.list === this) return;
    sequence.list?.remove(sequence);
    sequence.list = this;
    sequence.previous = this.#tail;
    if (this.#tail === undefined) this.#head = sequence;
    else this.#tail.next = sequence;
    this.#tail = sequence;
  }

  /** Does nothing for a sequence that is not in it. */
  remove(sequence: Sequence): void {
    if (sequence.list !== this) return;
    const { previous, next } = sequence;
    if (previous === undefined) this.#head = next;
    else previous.next = next;
    if (next === undefined) this.#tail = previous;
    else next.previous = previous;
    sequence.list = undefined;
    sequence.previous = undefined;
    sequence.next = undefined;
  }

  /** From the head on. The list must not change while somebody iterates. */
  *[Symbol.iterator](): Generator<Sequence> {
    for (let one = this.#head; one !== undefined; one = one.next) yield one;
  }
}
