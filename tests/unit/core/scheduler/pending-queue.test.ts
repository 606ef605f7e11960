import { describe, expect, test } from "bun:test";
import { PendingQueue } from "../../../../src/core/scheduler/pending-queue.ts";
import { pendingEntry } from "../../../support/pending-entry.ts";

describe("PendingQueue", () => {
  test("runs urgent levels first, and within a level in order of arrival", () => {
    const queue = new PendingQueue(2);
    const late = pendingEntry({ level: 1 });
    const first = pendingEntry();
    const second = pendingEntry();
    for (const entry of [late, first, second]) queue.append(entry);
    expect([...queue]).toEqual([first, second, late]);
    expect([queue.count, queue.levelCount(0), queue.levelCount(1)]).toEqual([3, 2, 1]);
  });

  test("takes a request out of the middle, once", () => {
    const queue = new PendingQueue(1);
    const [a, b, c] = [pendingEntry(), pendingEntry(), pendingEntry()];
    for (const entry of [a, b, c]) queue.append(entry);
    queue.remove(b);
    queue.remove(b);
    expect([...queue]).toEqual([a, c]);
    expect(queue.count).toBe(2);
  });

  test("puts a delayed request behind its level, where it no longer expires", () => {
    const queue = new PendingQueue(2);
    const delayed = pendingEntry({ deadlineNs: 10 });
    const waiting = pendingEntry({ deadlineNs: 20 });
    const less = pendingEntry({ level: 1 });
    for (const entry of [delayed, waiting, less]) queue.append(entry);
    expect(queue.nextToExpire()).toBe(delayed);
    queue.delay(delayed);
    expect([...queue]).toEqual([waiting, delayed, less]);
    expect(queue.nextToExpire()).toBe(waiting);
    expect(queue.levelCount(0)).toBe(2);
  });

  test("knows how long the oldest request has waited, delayed ones included", () => {
    const queue = new PendingQueue(1);
    expect(queue.oldestQueuedNs()).toBe(Number.POSITIVE_INFINITY);
    const old = pendingEntry({ queuedNs: 5, deadlineNs: 6 });
    queue.append(old);
    queue.append(pendingEntry({ queuedNs: 9 }));
    queue.delay(old);
    expect(queue.oldestQueuedNs()).toBe(5);
  });
});
