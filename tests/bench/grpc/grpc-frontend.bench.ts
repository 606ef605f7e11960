/**
 * What does the gRPC frontend cost the server for one ModelInfer, without a model behind it? CPU µs per request of the
 * server process (user and system), for add_sub-sized messages, beside an empty reply of node:http2 in the same run.
 *
 * `bun tests/bench/grpc/grpc-frontend.bench.ts [rounds [modes]]`. Prints one JSON line a cell.
 */
import { join } from "node:path";
import { messageBytes, sumRequest } from "../../support/infer-requests.ts";
import { runGrpcLoad } from "../load/grpc-load.ts";
import { processCpuMicroseconds } from "../load/http-load.ts";

const MODES = ["floor", "hot", "connect"] as const;
const CONCURRENCIES = [1, 8, 32] as const;
const REQUEST_COUNTS = { floor: 20_000, hot: 20_000, connect: 5000 } as const;
const WARM_UP_COUNT = 10_000;
const MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer";

type Mode = (typeof MODES)[number];

interface RunningServer {
  readonly process: Bun.Subprocess;
  readonly port: number;
}

async function startServer(mode: Mode): Promise<RunningServer> {
  const script = join(import.meta.dir, "grpc-bench-server.ts");
  const child = Bun.spawn([process.execPath, script, mode], { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  return { process: child, port: Number(new TextDecoder().decode(value)) };
}

async function measure(
  mode: Mode,
  server: RunningServer,
  concurrency: number,
  requestCount: number,
) {
  const before = await processCpuMicroseconds(server.process.pid);
  const result = await runGrpcLoad({
    port: server.port,
    path: MODEL_INFER,
    message: messageBytes(sumRequest({ id: "1" })),
    concurrency,
    requestCount,
  });
  const spent = (await processCpuMicroseconds(server.process.pid)) - before;
  if (mode !== "floor" && result.failedCount > 0)
    throw new Error(`${result.failedCount} calls failed`);
  const at = (share: number) =>
    result.latenciesMicroseconds[Math.floor(share * (requestCount - 1))]?.toFixed(0);
  return {
    cpuMicroseconds: spent / requestCount,
    perSecond: Math.round((requestCount / result.elapsedNs) * 1e9),
    p50Microseconds: at(0.5),
    p99Microseconds: at(0.99),
  };
}

async function main(): Promise<void> {
  const rounds = Number(process.argv[2] ?? "3");
  const modes = process.argv[3]?.split(",") ?? MODES;
  const servers = new Map<Mode, RunningServer>();
  for (const mode of MODES) if (modes.includes(mode)) servers.set(mode, await startServer(mode));
  try {
    for (const [mode, server] of servers) await measure(mode, server, 8, WARM_UP_COUNT);
    for (const concurrency of CONCURRENCIES) {
      const cells = new Map<Mode, number[]>();
      for (let i = 0; i < rounds; i++) {
        for (const [mode, server] of servers) {
          const cell = await measure(mode, server, concurrency, REQUEST_COUNTS[mode]);
          cells.set(mode, [...(cells.get(mode) ?? []), cell.cpuMicroseconds]);
          const line = {
            name: "grpc-frontend",
            unit: "µs",
            mode,
            concurrency,
            n: REQUEST_COUNTS[mode],
            ...cell,
          };
          process.stdout.write(`${JSON.stringify(line)}\n`);
        }
      }
      for (const [mode, values] of cells) {
        const median = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
        process.stdout.write(
          `${JSON.stringify({ name: "grpc-frontend median", mode, concurrency, median })}\n`,
        );
      }
    }
  } finally {
    for (const server of servers.values()) server.process.kill();
  }
}

await main();
