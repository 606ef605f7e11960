import type { SessionSettings } from "./session-settings.ts";

/** First release in which the time of spinning can be set. */
const SPIN_DURATION_API_VERSION = 26;

/** Long enough to catch the next node of the same run, short enough not to be seen on a CPU meter. */
const SPIN_MICROSECONDS = "20";

/**
 * Entries that keep idle threads of a session from burning CPU.
 *
 * By default each of onnxruntime's threads spins for about a millisecond after its last work, in the hope of more. In a
 * server that is most of the CPU that a small model takes: an MLP of 4 × 512 × 512 called once a millisecond cost
 * 1984 µs of CPU a run on two cores, add_sub 410 µs. Without spinning it was 346 and 90 µs, but runs back to back took
 * 120 instead of 86 µs, because each node had to wake the threads. Spinning for 20 µs gives both: 335 µs of CPU, 82 µs
 * back to back. Older libraries cannot limit it, so there it is off.
 *
 * @param apiVersion of the library.
 * @returns nothing for a pool about which the configuration says something itself.
 */
export function spinningEntries(
  apiVersion: number,
  { sessionEntries }: Pick<SessionSettings, "sessionEntries">,
): [key: string, value: string][] {
  const given = [...sessionEntries.keys()];
  return ["session.intra_op.", "session.inter_op."]
    .filter((pool) => !given.some((key) => key.startsWith(pool) && key.includes("spin")))
    .map((pool) =>
      apiVersion >= SPIN_DURATION_API_VERSION
        ? [`${pool}spin_duration_us`, SPIN_MICROSECONDS]
        : [`${pool}allow_spinning`, "0"],
    );
}
