import { cpus } from "node:os";

/** Prints a measurement as one JSON line: the median of the rounds, and the worst one. */
export function printBench(name: string, unit: string, rounds: readonly number[]): void {
  const sorted = [...rounds].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const line = {
    name,
    unit,
    n: rounds.length,
    median: rounded(median),
    worst: rounded(sorted.at(-1) ?? Number.NaN),
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`,
    bun: Bun.version,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
