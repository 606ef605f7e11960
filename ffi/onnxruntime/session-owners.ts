import { NativeBlock } from "../memory.ts";

/** Words of the note: what it is, the session's address, its owners. */
const WORD_COUNT = 3;
const MARK = 0x7472_6962_7365_7373n;
/** Half word of the owners' count. */
const COUNT = 4;

/**
 * Counts the threads that use one native session, so that the last of them frees it. The count lies in native memory,
 * because threads share nothing else; a session's handle is the address of that note.
 */
export class SessionOwners {
  /** Address of the native session. */
  readonly session: number;
  /** For {@link join}, as long as one owner has not left. */
  readonly handle: number;
  readonly #note: NativeBlock;

  private constructor(note: NativeBlock) {
    this.#note = note;
    this.handle = note.address;
    this.session = Number(note.words[1]);
  }

  /** @param session address of a native session that has no owner yet; the caller is the first. */
  static first(session: number): SessionOwners {
    const note = NativeBlock.allocate(WORD_COUNT);
    note.words[0] = MARK;
    note.words[1] = BigInt(session);
    Atomics.store(note.counters, COUNT, 1);
    return new SessionOwners(note);
  }

  /** One more owner, in any thread. @throws Error when the handle is none, or its last owner has left. */
  static join(handle: number): SessionOwners {
    const note = NativeBlock.attach(handle, WORD_COUNT);
    if (note.words[0] !== MARK) throw new Error(`${handle} is no handle of a session`);
    let count = Atomics.load(note.counters, COUNT);
    while (count > 0) {
      const seen = Atomics.compareExchange(note.counters, COUNT, count, count + 1);
      if (seen === count) return new SessionOwners(note);
      count = seen;
    }
    throw new Error("the session has been freed");
  }

  /** @returns true when this was the last owner, who frees the session. Call it once. */
  leave(): boolean {
    const isLast = Atomics.sub(this.#note.counters, COUNT, 1) === 1;
    if (isLast) {
      this.#note.words[0] = 0n;
      this.#note.free();
    } else {
      this.#note.detach();
    }
    return isLast;
  }
}
