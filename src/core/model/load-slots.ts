/** Bounds how many models load at once (`--model-load-thread-count`); others wait their turn in order. */
export class LoadSlots {
  #freeCount: number;
  readonly #waiting: (() => void)[] = [];

  /** @param slotCount at least 1. */
  constructor(slotCount: number) {
    this.#freeCount = Math.max(1, slotCount);
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#freeCount > 0) this.#freeCount--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      // A slot goes straight to the next in line, so that nobody overtakes it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#freeCount++;
      else next();
    }
  }
}
