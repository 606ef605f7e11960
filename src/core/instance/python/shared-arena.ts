import type { Slab, SlabAllocator } from "../../memory/slab.ts";
import { alignedOffset } from "../../memory/slab.ts";

/** A block of an arena. */
export interface ArenaBlock {
  /** Number of the segment, as the other side knows it. */
  readonly segment: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

const MIN_BLOCK_BYTES = 4096;
const MAX_SEGMENT_BYTES = 1 << 28;

/**
 * Room for tensors on their way to a Python process: segments that the process maps, cut into power-of-two blocks
 * with a free list for each size. Blocks come back when the process has let go of every view of them.
 */
export class SharedArena implements Disposable {
  readonly #slabs: SlabAllocator;
  /** Tells the process of a new segment, before any block of it is used. */
  readonly #announce: (segment: number, slab: Slab) => void;
  readonly #segments: Slab[] = [];
  readonly #free = new Map<number, { segment: number; offset: number }[]>();
  #nextSegmentBytes: number;
  #usedBytes = 0;

  constructor(
    slabs: SlabAllocator,
    firstSegmentBytes: number,
    announce: (segment: number, slab: Slab) => void,
  ) {
    this.#slabs = slabs;
    this.#nextSegmentBytes = firstSegmentBytes;
    this.#announce = announce;
  }

  /** @throws Error when the system has no more memory. */
  allocate(byteLength: number): ArenaBlock {
    const blockBytes = blockSize(byteLength);
    const freed = this.#free.get(blockBytes)?.pop();
    if (freed !== undefined) return this.#block(freed.segment, freed.offset, byteLength);
    const last = this.#segments[this.#segments.length - 1];
    if (last === undefined || this.#usedBytes + blockBytes > last.byteLength)
      this.#grow(blockBytes);
    const offset = this.#usedBytes;
    this.#usedBytes += alignedOffset(blockBytes);
    return this.#block(this.#segments.length - 1, offset, byteLength);
  }

  /** Gives back what `allocate(byteLength)` gave. */
  free(segment: number, offset: number, byteLength: number): void {
    const blockBytes = blockSize(byteLength);
    const list = this.#free.get(blockBytes);
    if (list === undefined) this.#free.set(blockBytes, [{ segment, offset }]);
    else list.push({ segment, offset });
  }

  [Symbol.dispose](): void {
    for (const segment of this.#segments.splice(0)) segment.dispose();
    this.#free.clear();
  }

  #block(segment: number, offset: number, byteLength: number): ArenaBlock {
    const slab = this.#segments[segment];
    if (slab === undefined) throw new Error(`there is no segment ${segment}`);
    return { segment, offset, bytes: slab.bytes.subarray(offset, offset + byteLength) };
  }

  #grow(blockBytes: number): void {
    const byteLength = Math.max(this.#nextSegmentBytes, blockBytes);
    const slab = this.#slabs.allocate(byteLength);
    this.#segments.push(slab);
    this.#usedBytes = 0;
    this.#nextSegmentBytes = Math.min(byteLength * 2, MAX_SEGMENT_BYTES);
    this.#announce(this.#segments.length - 1, slab);
  }
}

function blockSize(byteLength: number): number {
  let size = MIN_BLOCK_BYTES;
  while (size < byteLength) size *= 2;
  return size;
}
