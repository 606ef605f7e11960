/** What a {@link DeadlineHeap} keeps. */
export interface DeadlineEntry {
  /** Must not change while the entry is in the heap. */
  readonly deadlineNs: number;
  /** Place in the heap; −1 = not in it. Owned by the heap. */
  heapIndex: number;
}

/** A binary heap of what waits, earliest deadline first, from which any entry can be taken. */
export class DeadlineHeap<Entry extends DeadlineEntry> {
  readonly #entries: Entry[] = [];

  first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    entry.heapIndex = this.#entries.length;
    this.#entries.push(entry);
    this.#rise(entry);
  }

  /** Does nothing for an entry that is not in the heap. */
  remove(entry: Entry): void {
    const index = entry.heapIndex;
    if (index < 0) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#put(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(entry: Entry): void {
    while (entry.heapIndex > 0) {
      const parent = this.#entries[(entry.heapIndex - 1) >> 1];
      if (parent === undefined || parent.deadlineNs <= entry.deadlineNs) return;
      this.#swap(parent, entry);
    }
  }

  #sink(entry: Entry): void {
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

  #swap(a: Entry, b: Entry): void {
    const index = a.heapIndex;
    this.#put(a, b.heapIndex);
    this.#put(b, index);
  }

  #put(entry: Entry, index: number): void {
    entry.heapIndex = index;
    this.#entries[index] = entry;
  }
}
