/** Entries of one generation; a memo holds at most twice as many. */
const GENERATION_ENTRY_COUNT = 256;
/** Longer keys are not kept: they cost more memory than parsing costs time. */
const MAX_KEY_LENGTH = 4096;

/**
 * Remembers what a request header means, by its text. Bounded: when the newer half is full it becomes the older one
 * and the older one is dropped, so that an entry in use survives and a flood of distinct headers costs at most
 * 2 × 256 entries of 4 KiB.
 */
export class RequestMemo<T> {
  #newer = new Map<string, T>();
  #older = new Map<string, T>();

  get(key: string): T | undefined {
    const found = this.#newer.get(key);
    if (found !== undefined) return found;
    const old = this.#older.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    if (key.length > MAX_KEY_LENGTH) return;
    if (this.#newer.size >= GENERATION_ENTRY_COUNT) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  get entryCount(): number {
    return this.#newer.size + this.#older.size;
  }
}
