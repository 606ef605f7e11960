import type { InferenceRequest } from "../request/inference-request.ts";
import { DeadlineHeap } from "./deadline-heap.ts";

/** A waiting request: a link of its level's list and, where it can expire, an entry of the deadline heap. */
export class PendingEntry {
  readonly request: InferenceRequest;
  readonly batchSize: number;
  readonly mergeKey: string;
  /** Index of the priority level, 0 = most urgent. */
  readonly level: number;
  readonly queuedNs: number;
  /** Infinity where it does not expire. */
  readonly deadlineNs: number;
  /** Place in the deadline heap; −1 = not in it. Owned by {@link DeadlineHeap}. */
  heapIndex = -1;
  previous: PendingEntry | undefined = undefined;
  next: PendingEntry | undefined = undefined;
  list: EntryList | undefined = undefined;

  constructor(request: InferenceRequest, level: number, queuedNs: number, deadlineNs: number) {
    this.request = request;
    this.batchSize = request.validated?.batchSize ?? 1;
    this.mergeKey = request.validated?.mergeKey ?? "";
    this.level = level;
    this.queuedNs = queuedNs;
    this.deadlineNs = deadlineNs;
  }
}

/** A doubly linked list: taking out a cancelled request costs the same at any depth. */
class EntryList {
  head: PendingEntry | undefined = undefined;
  tail: PendingEntry | undefined = undefined;
  count = 0;

  append(entry: PendingEntry): void {
    entry.previous = this.tail;
    entry.next = undefined;
    entry.list = this;
    if (this.tail === undefined) this.head = entry;
    else this.tail.next = entry;
    this.tail = entry;
    this.count += 1;
  }

  remove(entry: PendingEntry): void {
    if (entry.previous === undefined) this.head = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === undefined) this.tail = entry.previous;
    else entry.next.previous = entry.previous;
    entry.previous = undefined;
    entry.next = undefined;
    entry.list = undefined;
    this.count -= 1;
  }
}

/** Waiting requests of one priority level: those in time, then those that a DELAY policy has put back. */
interface Level {
  readonly inTime: EntryList;
  readonly delayed: EntryList;
}

/**
 * The waiting requests of a scheduler, by priority level, then arrival. Every operation costs the same at any depth,
 * but for the deadline heap's logarithm where requests can expire.
 */
export class PendingQueue {
  readonly #levels: readonly Level[];
  readonly #deadlines = new DeadlineHeap<PendingEntry>();
  #count = 0;

  /** @param levelCount 1.. */
  constructor(levelCount: number) {
    this.#levels = Array.from({ length: levelCount }, () => ({
      inTime: new EntryList(),
      delayed: new EntryList(),
    }));
  }

  get count(): number {
    return this.#count;
  }

  /** Requests of one level, delayed ones included. */
  levelCount(level: number): number {
    const lists = this.#level(level);
    return lists.inTime.count + lists.delayed.count;
  }

  append(entry: PendingEntry): void {
    this.#level(entry.level).inTime.append(entry);
    this.#count += 1;
    if (entry.deadlineNs !== Number.POSITIVE_INFINITY) this.#deadlines.add(entry);
  }

  /** Takes a request out, wherever it is. Does nothing when it has left already. */
  remove(entry: PendingEntry): void {
    if (entry.list === undefined) return;
    entry.list.remove(entry);
    this.#deadlines.remove(entry);
    this.#count -= 1;
  }

  /** Puts an expired request behind the others of its level; it does not expire again. */
  delay(entry: PendingEntry): void {
    entry.list?.remove(entry);
    this.#deadlines.remove(entry);
    this.#level(entry.level).delayed.append(entry);
  }

  /** The request that expires first, undefined when none can. */
  nextToExpire(): PendingEntry | undefined {
    return this.#deadlines.first();
  }

  /** When the longest waiting request was queued; Infinity for an empty queue. */
  oldestQueuedNs(): number {
    let oldestNs = Number.POSITIVE_INFINITY;
    for (const { inTime, delayed } of this.#levels) {
      if (inTime.head !== undefined) oldestNs = Math.min(oldestNs, inTime.head.queuedNs);
      if (delayed.head !== undefined) oldestNs = Math.min(oldestNs, delayed.head.queuedNs);
    }
    return oldestNs;
  }

  /** The one that is to run first. */
  first(): PendingEntry | undefined {
    for (const { inTime, delayed } of this.#levels) {
      const entry = inTime.head ?? delayed.head;
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** In the order in which they are to run. The queue must not change while somebody iterates. */
  *[Symbol.iterator](): Generator<PendingEntry> {
    for (const { inTime, delayed } of this.#levels) {
      for (let entry = inTime.head; entry !== undefined; entry = entry.next) yield entry;
      for (let entry = delayed.head; entry !== undefined; entry = entry.next) yield entry;
    }
  }

  #level(index: number): Level {
    const level = this.#levels[index];
    if (level === undefined) throw new RangeError(`there is no priority level ${index}`);
    return level;
  }
}
