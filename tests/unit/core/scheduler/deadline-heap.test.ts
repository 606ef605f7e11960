import { describe, expect, test } from "bun:test";
import { DeadlineHeap } from "../../../../src/core/scheduler/deadline-heap.ts";
import type { PendingEntry } from "../../../../src/core/scheduler/pending-queue.ts";
import { pendingEntry } from "../../../support/pending-entry.ts";

describe("DeadlineHeap", () => {
  test("gives the earliest deadline, whatever the order of adding", () => {
    const heap = new DeadlineHeap();
    const entries = [5, 1, 4, 2, 3].map((deadlineNs) => pendingEntry({ deadlineNs }));
    for (const entry of entries) heap.add(entry);
    const seen: number[] = [];
    for (let first = heap.first(); first !== undefined; first = heap.first()) {
      seen.push(first.deadlineNs);
      heap.remove(first);
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  test("stays in order when entries are taken from anywhere", () => {
    const heap = new DeadlineHeap();
    const left = new Set<PendingEntry>();
    // A fixed sequence of numbers without a pattern that the heap could profit from.
    for (let i = 0; i < 500; i++) {
      const entry = pendingEntry({ deadlineNs: (i * 7919) % 997 });
      heap.add(entry);
      left.add(entry);
      if (i % 3 !== 0) continue;
      const victim = [...left][(i * 31) % left.size];
      if (victim === undefined) continue;
      heap.remove(victim);
      left.delete(victim);
      expect(victim.heapIndex).toBe(-1);
      const earliestNs = Math.min(...[...left].map(({ deadlineNs }) => deadlineNs));
      expect(heap.first()?.deadlineNs ?? Number.POSITIVE_INFINITY).toBe(earliestNs);
    }
  });

  test("ignores an entry that it does not hold", () => {
    const heap = new DeadlineHeap();
    const entry = pendingEntry({ deadlineNs: 1 });
    heap.add(entry);
    heap.remove(pendingEntry({ deadlineNs: 0 }));
    heap.remove(entry);
    heap.remove(entry);
    expect(heap.first()).toBeUndefined();
  });
});
