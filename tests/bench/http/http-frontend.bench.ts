/**
 * What does the HTTP frontend cost? Server CPU µs per request of add_sub (binary both ways, planes in memory, so no
 * backend) next to an empty Elysia route and one that reads the body, in one run. The rounds are short and many: on a
 * busy machine the smallest is the truest.
 *
 * `bun tests/bench/http/http-frontend.bench.ts`; BENCH_REQUESTS (6000) and BENCH_ROUNDS (10) may be set.
 */
import { join } from "node:path";
import { httpRequestBytes, processCpuMicroseconds, runHttpLoad } from "../load/http-load.ts";

const REQUEST_COUNT = Number(process.env["BENCH_REQUESTS"] ?? "6000");
const ROUND_COUNT = Number(process.env["BENCH_ROUNDS"] ?? "10");
/** Enough for the JIT to settle. */
const WARM_UP_COUNT = 20_000;
const CONCURRENCIES = [1, 8, 32] as const;
const MODES = ["empty", "body", "tribune"] as const;

interface BenchServer {
  readonly mode: string;
  readonly pid: number;
  readonly port: number;
  kill(): void;
}

async function start(mode: string): Promise<BenchServer> {
  const script = join(import.meta.dir, "http-bench-server.ts");
  const child = Bun.spawn([process.execPath, script, mode], { stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  return {
    mode,
    pid: child.pid,
    port: Number(new TextDecoder().decode(value)),
    kill: () => child.kill(),
  };
}

function addSubRequest(): Uint8Array {
  const input = (name: string) => ({
    name,
    shape: [1, 16],
    datatype: "INT32",
    parameters: { binary_data_size: 64 },
  });
  const output = (name: string) => ({ name, parameters: { binary_data: true } });
  const head = JSON.stringify({
    id: "7",
    inputs: [input("INPUT0"), input("INPUT1")],
    outputs: [output("OUTPUT0"), output("OUTPUT1")],
  });
  const body = new Uint8Array(head.length + 128);
  body.set(Buffer.from(head));
  return httpRequestBytes("/v2/models/add_sub/infer", body, {
    "Inference-Header-Content-Length": String(head.length),
    "Content-Type": "application/octet-stream",
  });
}

/** CPU µs per request of one load run. */
async function measure(server: BenchServer, concurrency: number, requestCount: number) {
  const beforeMicroseconds = await processCpuMicroseconds(server.pid);
  const load = await runHttpLoad({
    hostname: "127.0.0.1",
    port: server.port,
    request: addSubRequest(),
    concurrency,
    requestCount,
  });
  if (load.failedCount > 0) throw new Error(`${server.mode}: ${load.failedCount} requests failed`);
  const cpuMicroseconds = (await processCpuMicroseconds(server.pid)) - beforeMicroseconds;
  return { load, cpuMicroseconds: cpuMicroseconds / requestCount };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const servers = await Promise.all(MODES.map(start));
try {
  for (const server of servers) await measure(server, 8, WARM_UP_COUNT);
  for (const concurrency of CONCURRENCIES) {
    const seen = new Map<string, { cpu: number[]; p50: number[]; perSecond: number[] }>();
    for (let round = 0; round < ROUND_COUNT; round++) {
      for (const server of servers) {
        const { load, cpuMicroseconds } = await measure(server, concurrency, REQUEST_COUNT);
        const cell = seen.get(server.mode) ?? { cpu: [], p50: [], perSecond: [] };
        cell.cpu.push(cpuMicroseconds);
        cell.p50.push(load.p50Ns / 1000);
        cell.perSecond.push((load.requestCount / load.wallNs) * 1e9);
        seen.set(server.mode, cell);
      }
    }
    for (const [mode, { cpu, p50, perSecond }] of seen) {
      const row = {
        name: "http-frontend",
        mode,
        concurrency,
        leastCpuMicroseconds: Math.round(Math.min(...cpu) * 10) / 10,
        medianCpuMicroseconds: Math.round(median(cpu) * 10) / 10,
        perSecond: Math.round(median(perSecond)),
        p50Microseconds: Math.round(median(p50)),
      };
      process.stdout.write(`${JSON.stringify(row)}\n`);
    }
  }
} finally {
  for (const server of servers) server.kill();
}
