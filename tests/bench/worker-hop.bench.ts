/**
 * What does the way to an instance and back cost? µs of wall clock and of CPU (both sides) per batch of one small
 * request, for Workers and for child processes, beside the floor: a Worker that posts a number back.
 *
 * `bun tests/bench/worker-hop.bench.ts`. Prints one JSON line a figure.
 */
import { readFileSync } from "node:fs";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { InstanceHome } from "../../src/core/instance/instance-hosts.ts";
import { createInstanceHosts } from "../../src/instance-homes.ts";
import { printBench } from "../support/bench.ts";
import { identityConfig, NO_ANSWERS, openOptions } from "../support/identity-model.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { sampleSignature } from "../support/sample-config.ts";
import { batchOf, fp32Input, validatedRequest } from "../support/validated-request.ts";

const ROUNDS = 6;
const BATCHES_PER_ROUND = 10_000;

/** Ticks of 10 ms that the children of this process have used. */
function childCpuMicroseconds(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim();
  let ticks = 0;
  for (const pid of children.split(" ").filter((text) => text !== "")) {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * 10_000;
}

function cpuMicroseconds(): number {
  const own = process.cpuUsage();
  return own.user + own.system + childCpuMicroseconds();
}

async function measure(name: string, once: () => Promise<void>): Promise<void> {
  const wall: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startNs = Bun.nanoseconds();
    const startCpu = cpuMicroseconds();
    for (let i = 0; i < BATCHES_PER_ROUND; i++) await once();
    wall.push((Bun.nanoseconds() - startNs) / 1000 / BATCHES_PER_ROUND);
    cpu.push((cpuMicroseconds() - startCpu) / BATCHES_PER_ROUND);
  }
  // The first rounds are the compiler's.
  printBench(`${name}, wall clock`, "µs/batch", wall.slice(2));
  printBench(`${name}, CPU`, "µs/batch", cpu.slice(2));
}

async function measureFloor(): Promise<void> {
  const source = `addEventListener("message", ({ data }) => postMessage(data));`;
  const worker = new Worker(URL.createObjectURL(new Blob([source])));
  let answered: () => void = () => undefined;
  worker.onmessage = () => answered();
  const once = () =>
    new Promise<void>((resolve) => {
      answered = resolve;
      worker.postMessage(1);
    });
  await measure("floor: bare Worker", once);
  worker.terminate();
}

async function measureHome(home: InstanceHome): Promise<void> {
  const hosts = createInstanceHosts({ clock: new SystemClock(), logger: new RecordingLogger() });
  const config = identityConfig({ tensors: [{ datatype: "FP32", dims: [16] }], maxBatchSize: 8 });
  const opened = await hosts.open("identity", openOptions(config), home);
  const pool = await opened.createPool(config, sampleSignature(config));
  const values = Array.from({ length: 16 }, (_, i) => i);
  const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 16], values)]));
  const instance = pool.acquire();
  const once = () =>
    new Promise<void>((resolve) => instance?.execute(batch, () => resolve(), NO_ANSWERS));
  await measure(`instance in a ${home}`, once);
  await pool.dispose();
}

await measureFloor();
await measureHome("thread");
await measureHome("process");
process.exit(0);
