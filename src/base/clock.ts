/** Monotonic time and one-shot timers; tests put a manual clock in its place. */
export interface Clock {
  /** Nanoseconds since an arbitrary start; never goes back. */
  nowNs(): number;
  /**
   * Calls back once, about `delayNs` from now, with sub-millisecond precision where the system allows it.
   * @returns a function that cancels the timer; calling it twice, or after it fired, does nothing.
   */
  after(delayNs: number, callback: () => void): () => void;
}
