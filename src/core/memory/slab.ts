/** Where a slab lies, as the other host of an instance is told. Plain data. */
export interface SlabHandle {
  /** Address in the process that made it. */
  readonly address: number;
  readonly byteLength: number;
  /** File that another process can map; "" where the memory belongs to one process. */
  readonly path: string;
}

/**
 * A piece of native memory, 64-byte aligned, that two hosts share: one writes, the other reads. It is wrapped in an
 * ArrayBuffer once, because each wrapping of a megabyte costs about 22 µs.
 */
export interface Slab {
  readonly handle: SlabHandle;
  /** Address in this process. */
  readonly address: number;
  readonly byteLength: number;
  readonly bytes: Uint8Array;
  /** The same memory as words; frames are made of them. */
  readonly words: Float64Array;
  /**
   * Gives the memory (or this side's mapping) back. Nobody may read or write it any more; views that are still around
   * become empty rather than dangling. Idempotent.
   */
  dispose(): void;
}

/** Makes the slabs of one home of instances. Handed in by the composition roots: core knows no native memory. */
export interface SlabAllocator {
  /** @throws Error when there is not so much memory. */
  allocate(byteLength: number): Slab;
  /** A slab that the other host made. The maker frees it; `dispose` here ends only this side's view. */
  attach(handle: SlabHandle): Slab;
  /** Frees a slab whose maker died without doing so. Only after its last view was disposed. */
  reclaim(handle: SlabHandle): void;
}

/** Every region in a slab begins at a multiple of this. */
export const SLAB_ALIGNMENT_BYTES = 64;

/** The next multiple of {@link SLAB_ALIGNMENT_BYTES}. */
export function alignedOffset(offsetBytes: number): number {
  return Math.ceil(offsetBytes / SLAB_ALIGNMENT_BYTES) * SLAB_ALIGNMENT_BYTES;
}
