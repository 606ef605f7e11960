import type { Sequence, SequenceSlot } from "./sequence.ts";
import type { SequenceLane } from "./sequence-lane.ts";

/** The free slots of all instances: the lowest number goes first, so that instances fill evenly. */
export class SequenceSlots {
  /** The next one to go is the last. */
  readonly #free: SequenceSlot[];
  readonly #laneIndex: ReadonlyMap<SequenceLane, number>;

  constructor(lanes: readonly SequenceLane[]) {
    this.#laneIndex = new Map(lanes.map((lane, index) => [lane, index]));
    this.#free = lanes
      .flatMap(({ slots }) => slots)
      .sort((a, b) => this.#rankOf(b) - this.#rankOf(a));
  }

  /** Gives a sequence the first free slot of an instance that is up. @returns whether there was one. */
  assign(sequence: Sequence): boolean {
    for (let at = this.#free.length - 1; at >= 0; at--) {
      const slot = this.#free[at];
      if (slot === undefined || !slot.lane.instance.isReady) continue;
      this.#free.splice(at, 1);
      slot.sequence = sequence;
      sequence.slot = slot;
      return true;
    }
    return false;
  }

  /** The sequence leaves its slot, where it has one. */
  release(sequence: Sequence): void {
    const { slot } = sequence;
    if (slot === undefined) return;
    sequence.slot = undefined;
    slot.sequence = undefined;
    slot.lane.ready.remove(sequence);
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#free[middle];
      if (other !== undefined && this.#rankOf(other) > this.#rankOf(slot)) low = middle + 1;
      else high = middle;
    }
    this.#free.splice(low, 0, slot);
  }

  #rankOf({ lane, number }: SequenceSlot): number {
    return number * this.#laneIndex.size + (this.#laneIndex.get(lane) ?? 0);
  }
}
