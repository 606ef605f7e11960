/** Slabs are not made smaller than this. */
export const MIN_SLAB_BYTES = 16 * 1024;

/** Slabs up to this size are kept for good. */
const KEPT_BYTES = 8 * 1024 * 1024;

/** So many batches in a row must leave three quarters of a large slab unused before it shrinks. */
const SPARE_BATCHES_BEFORE_SHRINK_COUNT = 32;

/**
 * Decides how large a slab should be, from what the batches need: it grows at once with some headroom, and gives
 * back the memory of a rare giant after a while.
 */
export class SlabSizing {
  #spareBatchCount = 0;
  #recentPeakBytes = 0;

  /**
   * @param currentBytes size of the slab there is; 0 = none.
   * @param neededBytes what the next batch (or the last one) needs.
   * @returns the size that the slab should have; `currentBytes` where it can stay.
   */
  next(currentBytes: number, neededBytes: number): number {
    if (neededBytes > currentBytes) {
      this.#forget();
      return roomyBytes(neededBytes);
    }
    if (currentBytes <= KEPT_BYTES || neededBytes > currentBytes / 4) {
      this.#forget();
      return currentBytes;
    }
    this.#recentPeakBytes = Math.max(this.#recentPeakBytes, neededBytes);
    this.#spareBatchCount += 1;
    if (this.#spareBatchCount < SPARE_BATCHES_BEFORE_SHRINK_COUNT) return currentBytes;
    const smallerBytes = roomyBytes(this.#recentPeakBytes);
    this.#forget();
    return smallerBytes;
  }

  #forget(): void {
    this.#spareBatchCount = 0;
    this.#recentPeakBytes = 0;
  }
}

/** A quarter more than needed, in whole steps of {@link MIN_SLAB_BYTES}. */
function roomyBytes(neededBytes: number): number {
  return Math.max(1, Math.ceil((neededBytes * 1.25) / MIN_SLAB_BYTES)) * MIN_SLAB_BYTES;
}
