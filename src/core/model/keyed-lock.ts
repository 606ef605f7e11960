/** Runs tasks of the same key one after the other, in the order they came; tasks of different keys side by side. */
export class KeyedLock {
  /** The newest task of each key that has one. */
  readonly #tails = new Map<string, Promise<unknown>>();

  /** @returns what the task returns; a failed task does not keep the next from running. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const earlier = this.#tails.get(key) ?? Promise.resolve();
    const turn = earlier.then(task, task);
    const tail = turn.catch(() => undefined);
    this.#tails.set(key, tail);
    try {
      return await turn;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
