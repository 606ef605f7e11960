import type { PendingEntry } from "./pending-queue.ts";

/** A binary heap of waiting requests, earliest deadline first, from which any entry can be taken. */
export class DeadlineHeap {
  readonly #entries: PendingEntry[] = [];

  first(): PendingEntry | undefined {
    return this.#entries[0];
  }

  add(entry: PendingEntry): void {
    entry.heapIndex = this.#entries.length;
    this.#entries.push(entry);
    this.#rise(entry);
  }

  /** Does nothing for an entry that is not in the heap. */
  remove(entry: PendingEntry): void {
    const index = entry.heapIndex;
    if (index < 0) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#put(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(entry: PendingEntry): void {
    while (entry.heapIndex > 0) {
      const parent = this.#entries[(entry.heapIndex - 1) >> 1];
      if (parent === undefined || parent.deadlineNs <= entry.deadlineNs) return;
      this.#swap(parent, entry);
    }
  }

  #sink(entry: PendingEntry): void {
    while (true) {
      const left = this.#entries[entry.heapIndex * 2 + 1];
      const right = this.#entries[entry.heapIndex * 2 + 2];
      let least = entry;
      if (left !== undefined && left.deadlineNs < least.deadlineNs) least = left;
      if (right !== undefined && right.deadlineNs < least.deadlineNs) least = right;
      if (least === entry) return;
      this.#swap(entry, least);
    }
  }

  #swap(a: PendingEntry, b: PendingEntry): void {
    const index = a.heapIndex;
    this.#put(a, b.heapIndex);
    this.#put(b, index);
  }

  #put(entry: PendingEntry, index: number): void {
    entry.heapIndex = index;
    this.#entries[index] = entry;
  }
}
