/**
 * What goes between the main thread and a Worker without messages: doorbells, and which batches are to stop. A
 * message wakes the other side's event loop, which costs about as much as a small inference, so it is sent only to a
 * side that sleeps; whoever is awake looks for further doorbells before it goes back to sleep.
 *
 *   words 0…       two rings, for doorbells down to the Worker and up from it
 *   GATE           1 + the slot whose batch is being run; 0 = none; STOPPING while the main thread stops it
 *   CANCELLED…     for each slot, 1 = its batch is not wanted any more
 *
 * A ring: entries written so far, whether its reader is awake, then entries of two words: the slot, and how many
 * messages had been sent before. An entry waits for those messages, so that all arrives in the order of sending.
 */

/** A power of two, and more than there are slots: each slot has at most one doorbell on the way. */
const ENTRY_COUNT = 16;
const ENTRY_MASK = ENTRY_COUNT - 1;

const WORDS_PER_CACHE_LINE = 16;
const WRITTEN = 0;
/** On a cache line of its own: the reader writes it, `WRITTEN` and the entries are the writer's. */
const IS_AWAKE = WORDS_PER_CACHE_LINE;
const ENTRIES = 2 * WORDS_PER_CACHE_LINE;
const RING_WORDS = ENTRIES + 2 * ENTRY_COUNT;

const GATE = 2 * RING_WORDS;
const CANCELLED = GATE + WORDS_PER_CACHE_LINE;
const LINE_WORDS = CANCELLED + ENTRY_COUNT;

const NOTHING_RUNS = 0;
const STOPPING = -1;

/** So many doorbells are heard in a row before the event loop gets its turn. */
const MAX_DOORBELLS_PER_TURN = 64;

/** The message that wakes the other side. */
export const WAKE = 0;

/** The memory of a line. Goes to the Worker as its first message. */
export function newThreadLine(): SharedArrayBuffer {
  return new SharedArrayBuffer(LINE_WORDS * Int32Array.BYTES_PER_ELEMENT);
}

/** What a {@link LineEnd} needs of its thread. */
export interface LineEndOptions {
  /** Sends {@link WAKE}. */
  wake(): void;
  /** A doorbell of the other side. */
  onRing(slot: number): void;
}

/** One end of a line. Both ends count the messages that go beside it. */
abstract class LineEnd {
  protected readonly words: Int32Array;
  readonly #options: LineEndOptions;
  readonly #outgoing: number;
  readonly #incoming: number;
  readonly #drainLater = (): void => this.drain();
  #writtenCount = 0;
  #readCount = 0;
  #sentCount = 0;
  #receivedCount = 0;

  constructor(buffer: SharedArrayBuffer, isWorker: boolean, options: LineEndOptions) {
    this.words = new Int32Array(buffer);
    this.#options = options;
    this.#outgoing = isWorker ? RING_WORDS : 0;
    this.#incoming = isWorker ? 0 : RING_WORDS;
  }

  ring(slot: number): void {
    const { words } = this;
    const start = this.#outgoing;
    const at = start + ENTRIES + 2 * (this.#writtenCount & ENTRY_MASK);
    words[at] = slot;
    words[at + 1] = this.#sentCount;
    this.#writtenCount = (this.#writtenCount + 1) | 0;
    Atomics.store(words, start + WRITTEN, this.#writtenCount);
    // The reader says that it sleeps and then looks once more; here it is the other way round. One of the two
    // sees what the other did, so no doorbell goes unheard.
    if (Atomics.exchange(words, start + IS_AWAKE, 1) === 0) this.#options.wake();
  }

  /** Call before each message but {@link WAKE}. */
  countSent(): void {
    this.#sentCount = (this.#sentCount + 1) | 0;
  }

  /** Call after each message but {@link WAKE} was obeyed. */
  countReceived(): void {
    this.#receivedCount = (this.#receivedCount + 1) | 0;
    this.drain();
  }

  /** Hears every doorbell there is. Call on {@link WAKE}. */
  drain(): void {
    try {
      for (let heard = 0; heard < MAX_DOORBELLS_PER_TURN; heard++) {
        if (!this.#isNextReady()) return;
        const at = this.#incoming + ENTRIES + 2 * (this.#readCount & ENTRY_MASK);
        this.#readCount = (this.#readCount + 1) | 0;
        this.#options.onRing(this.words[at] ?? 0);
      }
    } catch (thrown) {
      setImmediate(this.#drainLater);
      throw thrown;
    }
    setImmediate(this.#drainLater);
  }

  /** False when there is none, and this side sleeps now; or when it waits for a message that is on its way. */
  #isNextReady(): boolean {
    const { words } = this;
    const start = this.#incoming;
    if (Atomics.load(words, start + WRITTEN) === this.#readCount) {
      Atomics.store(words, start + IS_AWAKE, 0);
      if (Atomics.load(words, start + WRITTEN) === this.#readCount) return false;
      // Where the other side was faster its wake-up comes too late to find anything, which does no harm.
      Atomics.store(words, start + IS_AWAKE, 1);
    }
    const at = start + ENTRIES + 2 * (this.#readCount & ENTRY_MASK);
    return (((words[at + 1] ?? 0) - this.#receivedCount) | 0) <= 0;
  }
}

/** The main thread's end. */
export class MainLineEnd extends LineEnd {
  constructor(buffer: SharedArrayBuffer, options: LineEndOptions) {
    super(buffer, false, options);
  }

  override ring(slot: number): void {
    Atomics.store(this.words, CANCELLED + slot, 0);
    super.ring(slot);
  }

  /**
   * The batch of a slot is not wanted any more: where it has not started it will not, and where it runs it is stopped.
   * The Worker does not go on to another batch meanwhile, so `stop` cannot hit the wrong one.
   */
  cancel(slot: number, stop: () => void): void {
    Atomics.store(this.words, CANCELLED + slot, 1);
    if (Atomics.compareExchange(this.words, GATE, slot + 1, STOPPING) !== slot + 1) return;
    try {
      stop();
    } finally {
      Atomics.store(this.words, GATE, slot + 1);
      Atomics.notify(this.words, GATE);
    }
  }
}

/** The Worker's end. */
export class WorkerLineEnd extends LineEnd {
  constructor(buffer: SharedArrayBuffer, options: LineEndOptions) {
    super(buffer, true, options);
  }

  /** From here until {@link leave} the batch of the slot can be stopped. @returns whether it is still wanted. */
  enter(slot: number): boolean {
    Atomics.store(this.words, GATE, slot + 1);
    return Atomics.load(this.words, CANCELLED + slot) === 0;
  }

  leave(slot: number): void {
    while (Atomics.compareExchange(this.words, GATE, slot + 1, NOTHING_RUNS) === STOPPING) {
      Atomics.wait(this.words, GATE, STOPPING);
    }
  }
}
