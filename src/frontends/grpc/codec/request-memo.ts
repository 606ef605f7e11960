/** Entries of one generation; a memo holds at most twice as many. */
const GENERATION_ENTRY_COUNT = 512;

/**
 * Remembers what requests of one form mean, by the bytes of the form. Bounded: a full generation becomes the older one
 * and what was older goes, so an entry in use stays and a flood of new forms costs at most 2 × 512 of them.
 */
export class RequestMemo<T> {
  #newer = new Map<string, T>();
  #older = new Map<string, T>();

  get entryCount(): number {
    return this.#newer.size + this.#older.size;
  }

  get(key: string): T | undefined {
    const found = this.#newer.get(key);
    if (found !== undefined) return found;
    const old = this.#older.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    if (this.#newer.size >= GENERATION_ENTRY_COUNT) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }
}
