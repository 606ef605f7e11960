import { readdirSync, readFileSync } from "node:fs";

/** A server started by a benchmark or a robustness run, with what the kernel knows about it. */
export interface ServerProcess {
  readonly pid: number;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metricsPort: number;
  /** From the start of the process to the first 200 of `/v2/health/ready`, in ms. */
  readonly readyMs: number;
  /** User and system time of the process and its children so far, in µs. */
  cpuMicroseconds(): number;
  /** Resident set of the process and its children, in bytes. */
  residentBytes(): number;
  isRunning(): boolean;
  /** SIGTERM, then the exit code. */
  stop(): Promise<number>;
}

const CLOCK_TICK_MICROSECONDS = 10_000;
const READY_TIMEOUT_MS = 60_000;

/**
 * Starts a server with its output in a log file and waits until it is ready.
 * @param command the program and its first arguments, for example `["dist/tribune", "serve"]`.
 * @throws Error when it exits, or is not ready within a minute.
 */
export async function startServer(
  command: readonly string[],
  repository: string,
  flags: readonly string[] = [],
  logPath = "/dev/null",
): Promise<ServerProcess> {
  const [httpPort, grpcPort, metricsPort] = [freePort(), freePort(), freePort()];
  const startedAt = performance.now();
  const child = Bun.spawn(
    [
      ...command,
      `--model-repository=${repository}`,
      "--http-address=127.0.0.1",
      `--http-port=${httpPort}`,
      "--grpc-address=127.0.0.1",
      `--grpc-port=${grpcPort}`,
      "--metrics-address=127.0.0.1",
      `--metrics-port=${metricsPort}`,
      ...flags,
    ],
    { stdout: Bun.file(logPath), stderr: Bun.file(logPath) },
  );
  const readyMs = await untilReady(httpPort, () => child.exitCode, startedAt);
  return {
    pid: child.pid,
    httpPort,
    grpcPort,
    metricsPort,
    readyMs,
    cpuMicroseconds: () => sumOverTree(child.pid, cpuMicrosecondsOf),
    residentBytes: () => sumOverTree(child.pid, residentBytesOf),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    stop: () => {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: ignoreData } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

function ignoreData(): void {
  // A port is only borrowed here; nobody connects to it.
}

async function untilReady(
  port: number,
  exitCode: () => number | null,
  startedAt: number,
): Promise<number> {
  while (performance.now() - startedAt < READY_TIMEOUT_MS) {
    if (exitCode() !== null) throw new Error(`the server exited with ${exitCode()}`);
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/v2/health/ready`);
      if (answer.status === 200) return performance.now() - startedAt;
    } catch {
      // Not listening yet: asked again below.
    }
    await Bun.sleep(5);
  }
  throw new Error(`the server was not ready after ${READY_TIMEOUT_MS} ms`);
}

function sumOverTree(pid: number, measure: (pid: number) => number): number {
  let total = 0;
  for (const member of treeOf(pid)) {
    try {
      total += measure(member);
    } catch {
      // The process ended between the listing and the reading.
    }
  }
  return total;
}

function treeOf(pid: number): number[] {
  const members = [pid];
  for (let i = 0; i < members.length; i++) members.push(...childrenOf(members[i] ?? 0));
  return members;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8")
        .split(" ")
        .filter((text) => text !== "")
        .map(Number),
    );
  } catch {
    return [];
  }
}

function cpuMicrosecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // utime and stime, fields 14 and 15 of proc(5), counted from the state after the command's name.
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MICROSECONDS;
}

function residentBytesOf(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return match === null ? 0 : Number(match[1]) * 1024;
}
