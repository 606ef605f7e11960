/**
 * Tries to bring a server down: malformed requests, many connections, slow readers, big bodies, load and unload.
 *
 * `bun tests/robustness/run.ts [--seed=N] [--requests=N] [--cycles=N] [-- command words…]`
 * Prints one line a trial and exits 1 when the server fell, leaked or answered a good request wrongly.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ServerProcess, startServer } from "../bench/end-to-end/server-process.ts";
import { fuzzGrpc, fuzzHttp } from "./fuzz.ts";
import { bigRequest, loadUnloadCycles, manyConnections, slowReaders } from "./pressure.ts";
import { probe } from "./probe.ts";

const ROOT = join(import.meta.dir, "../..");
const MEBIBYTE = 1 << 20;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    requests: { type: "string", default: "100000" },
    cycles: { type: "string", default: "200" },
  },
});
const seed = Number(values.seed);
const requestCount = Number(values.requests);
const command = positionals.length > 0 ? positionals : [join(ROOT, "dist/tribune"), "serve"];

let failures = 0;

async function trial(
  name: string,
  server: ServerProcess,
  allowedGrowthBytes: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const startedAt = performance.now();
  const before = server.residentBytes();
  let outcome = "ok";
  let detail: unknown;
  try {
    detail = await work();
    if (!server.isRunning()) throw new Error("the server is gone");
    await probe(server);
    const grown = await settledGrowth(server, before, allowedGrowthBytes);
    if (grown > allowedGrowthBytes) {
      throw new Error(
        `resident memory grew by ${(grown / MEBIBYTE).toFixed(0)} MiB, allowed ${(allowedGrowthBytes / MEBIBYTE).toFixed(0)}`,
      );
    }
  } catch (error) {
    outcome = `FAILED: ${error instanceof Error ? error.message : String(error)}`;
    failures++;
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const rss = `${(before / MEBIBYTE).toFixed(0)} -> ${(server.residentBytes() / MEBIBYTE).toFixed(0)} MiB`;
  process.stdout.write(
    `${name.padEnd(28)} ${seconds.padStart(7)} s  ${rss.padEnd(18)} ${outcome} ${detail === undefined ? "" : JSON.stringify(detail)}\n`,
  );
}

/** Memory is given back some time after the load has gone: wait for it, up to ten seconds. */
async function settledGrowth(
  server: ServerProcess,
  before: number,
  allowed: number,
): Promise<number> {
  let grown = server.residentBytes() - before;
  for (let i = 0; i < 20 && grown > allowed; i++) {
    await Bun.sleep(500);
    grown = server.residentBytes() - before;
  }
  return grown;
}

const work = mkdtempSync(join(tmpdir(), "tribune-robustness-"));
const models = join(work, "models");
const logPath = join(work, "server.log");
mkdirSync(models);
const made = Bun.spawnSync([
  join(ROOT, ".venv/bin/python"),
  join(ROOT, "tests/bench/end-to-end/make_models.py"),
  models,
]);
if (made.exitCode !== 0) throw new Error(made.stderr.toString());
process.stdout.write(`seed ${seed}\n`);
const server = await startServer(
  command,
  models,
  ["--model-control-mode=explicit", "--load-model=*", "--http-max-input-size=1073741824"],
  logPath,
);
try {
  await trial("warm-up", server, 512 * MEBIBYTE, () => fuzzHttp(server, seed ^ 0x5bd1e995, 5000));
  await trial("malformed HTTP", server, 32 * MEBIBYTE, () =>
    fuzzHttp(server, seed, requestCount / 2),
  );
  await trial("malformed gRPC, warm-up", server, 256 * MEBIBYTE, () =>
    fuzzGrpc(server, seed ^ 0x2545f491, 5000),
  );
  await trial("malformed gRPC", server, 32 * MEBIBYTE, () =>
    fuzzGrpc(server, seed, requestCount / 2),
  );
  await trial("500 connections", server, 64 * MEBIBYTE, () => manyConnections(server, 500));
  await trial("slow readers", server, 64 * MEBIBYTE, () => slowReaders(server, 40));
  await trial("200 MB request", server, 700 * MEBIBYTE, () => bigRequest(server, 200_000_000));
  await trial("load/unload, warm-up", server, 256 * MEBIBYTE, () =>
    loadUnloadCycles(server, "add_sub", 20),
  );
  await trial("load/unload", server, 32 * MEBIBYTE, () =>
    loadUnloadCycles(server, "add_sub", Number(values.cycles)),
  );
} finally {
  const code = await server.stop();
  if (code !== 0) {
    process.stdout.write(`the server exited with ${code}\n`);
    failures++;
  }
  const uncaught = /^.*caught by nobody.*$/m.exec(readFileSync(logPath, "utf8"));
  if (uncaught !== null) {
    process.stdout.write(`the server let an exception go: ${uncaught[0]}\n`);
    failures++;
  }
  rmSync(work, { recursive: true, force: true });
}
process.exit(failures === 0 ? 0 : 1);
