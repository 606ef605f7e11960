/** The monotonic clock may run away from the wall clock (a suspended machine, a corrected time) by this much. */
const MAX_DRIFT_MS = 2;

/** A wall clock in ms since the epoch with microseconds behind the point; follows corrections of the system's time. */
export function preciseWallClock(): () => number {
  let offsetMs = Date.now() - performance.now();
  return () => {
    const wallMs = Date.now();
    const preciseMs = offsetMs + performance.now();
    if (Math.abs(preciseMs - wallMs) <= MAX_DRIFT_MS) return preciseMs;
    offsetMs += wallMs - preciseMs;
    return wallMs;
  };
}
