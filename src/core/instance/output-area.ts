import { alignedOffset, type Slab, type SlabAllocator, type SlabHandle } from "../memory/slab.ts";
import { MIN_SLAB_BYTES, SlabSizing } from "../memory/slab-sizing.ts";

/** A place in an {@link OutputArea}. */
export interface OutputRoom {
  /** Which of the area's slabs. */
  readonly slabIndex: number;
  readonly offsetBytes: number;
  readonly slab: Slab;
}

/** The reply frame's place is told at the head of the first slab. */
const HEAD_BYTES = 64;

/**
 * Where one slot's outputs go, on the host's side. Rooms never move while a batch runs, because a backend may hold
 * their addresses: when a slab is full, another one is added. Before the next batch of the slot they become one.
 */
export class OutputArea {
  readonly #allocator: SlabAllocator;
  readonly #announce: (handles: readonly SlabHandle[]) => void;
  readonly #sizing = new SlabSizing();
  #slabs: Slab[] = [];
  /** Free bytes of the last slab begin here. */
  #offsetBytes = HEAD_BYTES;
  /** Bytes given out of the slabs before the last. */
  #usedBeforeBytes = 0;
  #isAnnounced = true;

  /** @param announce tells the other side which slabs there are now, in order. */
  constructor(allocator: SlabAllocator, announce: (handles: readonly SlabHandle[]) => void) {
    this.#allocator = allocator;
    this.#announce = announce;
  }

  /** Forgets the rooms of the batch before. The other side must be done with them. */
  reset(): void {
    const [first] = this.#slabs;
    const usedBytes = this.#usedBeforeBytes + this.#offsetBytes;
    const currentBytes = this.#slabs.length > 1 ? 0 : (first?.byteLength ?? 0);
    const wantedBytes = this.#sizing.next(currentBytes, usedBytes);
    if (wantedBytes !== currentBytes) this.#replaceBy(wantedBytes);
    this.#offsetBytes = HEAD_BYTES;
    this.#usedBeforeBytes = 0;
  }

  /** @throws Error when there is not so much memory; the rooms given so far stay. */
  allocate(byteLength: number): OutputRoom {
    const last = this.#slabs.at(-1);
    if (last === undefined || this.#offsetBytes + byteLength > last.byteLength) {
      const slab = this.#allocator.allocate(
        Math.max(MIN_SLAB_BYTES, alignedOffset(byteLength) + HEAD_BYTES),
      );
      this.#usedBeforeBytes += last === undefined ? 0 : this.#offsetBytes;
      this.#slabs.push(slab);
      this.#isAnnounced = false;
      this.#offsetBytes = HEAD_BYTES;
    }
    const slabIndex = this.#slabs.length - 1;
    const slab = this.#slabs[slabIndex];
    if (slab === undefined) throw new Error("an output area without a slab");
    const offsetBytes = this.#offsetBytes;
    this.#offsetBytes = alignedOffset(offsetBytes + byteLength);
    return { slabIndex, offsetBytes, slab };
  }

  /** Says where the reply frame is, and which slabs there are where that has changed. Call before the doorbell. */
  publish(frame: OutputRoom): void {
    const words = this.#slabs[0]?.words;
    if (words === undefined) return;
    words[0] = frame.slabIndex;
    words[1] = frame.offsetBytes;
    if (this.#isAnnounced) return;
    this.#announce(this.#slabs.map((slab) => slab.handle));
    this.#isAnnounced = true;
  }

  /** Frees all slabs. The other side must be done with them. */
  dispose(): void {
    for (const slab of this.#slabs) slab.dispose();
    this.#slabs = [];
  }

  #replaceBy(byteLength: number): void {
    this.dispose();
    this.#slabs.push(this.#allocator.allocate(byteLength));
    this.#isAnnounced = false;
  }
}
