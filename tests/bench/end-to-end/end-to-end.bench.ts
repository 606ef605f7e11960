/**
 * Server CPU µs per inference, throughput and latency of the whole server, driven by perf_analyzer.
 *
 * `bun tests/bench/end-to-end/end-to-end.bench.ts [command words…]`; the command defaults to `dist/tribune serve`.
 * Prints one JSON line a cell, then a table beside the published figures for Triton, then the geometric means.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServerProcess, startServer } from "./server-process.ts";
import triton from "./triton.json" with { type: "json" };

const ROOT = join(import.meta.dir, "../../..");
const CONCURRENCIES = [1, 8, 32] as const;
const WINDOW_MS = Number(process.env["BENCH_WINDOW_MS"] ?? "1500");
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? "2");

const WARM_UP_MS = 400;

/** perf_analyzer takes fewer than three windows for a failed measurement. */
const WINDOW_COUNT = 3;

interface Cell {
  readonly model: string;
  readonly protocol: string;
  readonly concurrency: number;
  readonly cpuMicroseconds: number;
  readonly perSecond: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  readonly averageBatch: number;
}

async function main(): Promise<void> {
  const command =
    process.argv.length > 2 ? process.argv.slice(2) : [join(ROOT, "dist/tribune"), "serve"];
  const work = mkdtempSync(join(tmpdir(), "tribune-bench-"));
  const models = join(work, "models");
  mkdirSync(models);
  const python = join(ROOT, ".venv/bin/python");
  run([python, join(import.meta.dir, "make_models.py"), models]);
  const server = await startServer(command, models, [], join(work, "server.log"));
  const cells: Cell[] = [];
  try {
    print(
      JSON.stringify({
        name: "start",
        unit: "ms",
        readyMs: round(server.readyMs),
        idleRssBytes: server.residentBytes(),
      }),
    );
    for (let roundIndex = 0; roundIndex < ROUNDS; roundIndex++) {
      for (const row of triton.rows) {
        for (const concurrency of CONCURRENCIES) {
          const cell = await measure(server, work, row.model, row.protocol, concurrency);
          cells.push(cell);
          print(JSON.stringify({ name: "end-to-end", round: roundIndex, ...cell }));
        }
      }
    }
    print(JSON.stringify({ name: "end", unit: "bytes", rssBytes: server.residentBytes() }));
  } finally {
    await server.stop();
    rmSync(work, { recursive: true, force: true });
  }
  report(cells);
}

async function measure(
  server: ServerProcess,
  work: string,
  model: string,
  protocol: string,
  concurrency: number,
): Promise<Cell> {
  const csv = join(work, "cell.csv");
  const analyze = (windowMs: number): void =>
    run([
      join(import.meta.dir, "perf_analyzer.sh"),
      ...["-m", model, "-i", protocol, "-u", `127.0.0.1:${portOf(server, protocol)}`],
      ...["--concurrency-range", String(concurrency), "-b", "1", "--sync", "-f", csv],
      ...["-p", String(windowMs), "-r", String(WINDOW_COUNT), "-s", "1000", "--percentile", "50"],
    ]);
  // The first seconds of a path are its compilation; a server that has run for a minute has it behind it.
  analyze(WARM_UP_MS);
  const before = await totals(server, model);
  const cpuBefore = server.cpuMicroseconds();
  analyze(WINDOW_MS);
  const cpu = server.cpuMicroseconds() - cpuBefore;
  const after = await totals(server, model);
  const requests = after.success - before.success;
  const line = csvRecord(readFileSync(csv, "utf8"));
  return {
    model,
    protocol,
    concurrency,
    cpuMicroseconds: round(cpu / requests),
    perSecond: Math.round(Number(line["Inferences/Second"])),
    p50Microseconds: Number(line["p50 latency"] ?? Number.NaN),
    p99Microseconds: Number(line["p99 latency"] ?? Number.NaN),
    averageBatch: round(
      (after.inferences - before.inferences) / (after.executions - before.executions),
    ),
  };
}

function portOf(server: ServerProcess, protocol: string): number {
  return protocol === "grpc" ? server.grpcPort : server.httpPort;
}

interface Totals {
  readonly success: number;
  readonly inferences: number;
  readonly executions: number;
}

async function totals(server: ServerProcess, model: string): Promise<Totals> {
  const answer = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/${model}/stats`);
  const body = (await answer.json()) as {
    model_stats: {
      inference_count: number;
      execution_count: number;
      inference_stats: { success: { count: number } };
    }[];
  };
  const stats = body.model_stats[0];
  if (stats === undefined) throw new Error(`no statistics for '${model}'`);
  return {
    success: Number(stats.inference_stats.success.count),
    inferences: Number(stats.inference_count),
    executions: Number(stats.execution_count),
  };
}

function csvRecord(text: string): Record<string, string> {
  const [header = "", line = ""] = text.trim().split("\n");
  const values = line.split(",");
  return Object.fromEntries(header.split(",").map((name, i) => [name, values[i] ?? ""]));
}

function report(cells: readonly Cell[]): void {
  print("");
  print(
    "model      proto  conc   CPU µs   Triton   ratio    infer/s   Triton   ratio     p50 µs    p99 µs  batch",
  );
  const cpuRatios: number[] = [];
  for (const row of triton.rows) {
    CONCURRENCIES.forEach((concurrency, i) => {
      const samples = cells.filter(
        (c) =>
          c.model === row.model && c.protocol === row.protocol && c.concurrency === concurrency,
      );
      const cpu = mean(samples.map((c) => c.cpuMicroseconds));
      const rate = mean(samples.map((c) => c.perSecond));
      const cpuRatio = cpu / (row.cpuMicroseconds[i] ?? Number.NaN);
      const rateRatio = rate / (row.perSecond[i] ?? Number.NaN);
      cpuRatios.push(cpuRatio);
      print(
        [
          row.model.padEnd(10),
          row.protocol.padEnd(5),
          String(concurrency).padStart(5),
          cpu.toFixed(0).padStart(8),
          String(row.cpuMicroseconds[i]).padStart(8),
          cpuRatio.toFixed(2).padStart(7),
          rate.toFixed(0).padStart(10),
          String(row.perSecond[i]).padStart(8),
          rateRatio.toFixed(2).padStart(7),
          mean(samples.map((c) => c.p50Microseconds))
            .toFixed(0)
            .padStart(10),
          mean(samples.map((c) => c.p99Microseconds))
            .toFixed(0)
            .padStart(9),
          mean(samples.map((c) => c.averageBatch))
            .toFixed(1)
            .padStart(6),
        ].join(" "),
      );
    });
  }
  const geometric = Math.exp(mean(cpuRatios.map(Math.log)));
  print(`geometric mean of the CPU ratios: ${geometric.toFixed(2)}  (Triton: ${triton.origin})`);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function run(command: string[]): void {
  const [program = ""] = command;
  if (!existsSync(program))
    throw new Error(`${program} is missing; 'make build' and the Python environment come first`);
  const result = Bun.spawnSync(command);
  if (result.exitCode !== 0) {
    throw new Error(
      `${command.join(" ")} failed\n${result.stdout.toString()}${result.stderr.toString()}`,
    );
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
