/** Entries of one generation where nothing else is said; a memo holds at most twice as many. */
const GENERATION_ENTRY_COUNT = 256;
/** Longer keys are not kept: they cost more memory than parsing costs time. */
const MAX_KEY_LENGTH = 4096;

/**
 * Remembers what requests of one form mean, by the text or bytes of the form. Bounded: a full generation becomes the
 * older one and what was older goes, so that an entry in use survives and a flood of distinct forms costs at most two
 * generations of entries of 4 KiB.
 */
export class RequestMemo<T> {
  readonly #generationEntryCount: number;
  #newer = new Map<string, T>();
  #older = new Map<string, T>();

  constructor(generationEntryCount = GENERATION_ENTRY_COUNT) {
    this.#generationEntryCount = generationEntryCount;
  }

  get(key: string): T | undefined {
    const found = this.#newer.get(key);
    if (found !== undefined) return found;
    const old = this.#older.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    if (key.length > MAX_KEY_LENGTH) return;
    if (this.#newer.size >= this.#generationEntryCount) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  get entryCount(): number {
    return this.#newer.size + this.#older.size;
  }
}
