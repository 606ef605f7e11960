import { readFileSync } from "node:fs";
import { Gauge, Registry } from "prom-client";

const BYTES_PER_KIB = 1024;

/** Readings of the machine, taken at an interval. */
interface HostReading {
  readonly utilization: number;
  readonly memoryTotalBytes: number;
  readonly memoryUsedBytes: number;
}

/** Where the machine's own figures stand; tests put a folder of theirs in its place. */
const PROC = "/proc";

/**
 * CPU and memory of the machine (`--allow-cpu-metrics`), read from /proc at each interval, and the pinned memory
 * pool, which is empty without a device.
 */
export class HostMetrics implements Disposable {
  readonly #registry = new Registry();
  readonly #proc: string;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  readonly #utilization: Gauge | undefined;
  readonly #memoryTotal: Gauge | undefined;
  readonly #memoryUsed: Gauge | undefined;
  #previous: CpuTimes | undefined;

  constructor(intervalMs: number, hasCpuMetrics: boolean, pinnedPoolBytes: number, proc = PROC) {
    this.#proc = proc;
    const gauge = (name: string, help: string): Gauge =>
      new Gauge({ name, help, registers: [this.#registry] });
    gauge(
      "nv_pinned_memory_pool_total_bytes",
      "Pinned memory pool total memory size, in bytes",
    ).set(pinnedPoolBytes);
    gauge("nv_pinned_memory_pool_used_bytes", "Pinned memory pool used memory size, in bytes").set(
      0,
    );
    if (!hasCpuMetrics) return;
    this.#utilization = gauge("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]");
    this.#memoryTotal = gauge("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes");
    this.#memoryUsed = gauge("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes");
    this.#read();
    this.#timer = setInterval(() => this.#read(), intervalMs);
    this.#timer.unref();
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#registry.clear();
  }

  #read(): void {
    const reading = this.#reading();
    if (reading === undefined) return;
    this.#utilization?.set(reading.utilization);
    this.#memoryTotal?.set(reading.memoryTotalBytes);
    this.#memoryUsed?.set(reading.memoryUsedBytes);
  }

  /** undefined where there is no /proc (other systems): the gauges then stay at zero. */
  #reading(): HostReading | undefined {
    try {
      const times = cpuTimes(readFileSync(`${this.#proc}/stat`, "utf8"));
      const memory = memoryBytes(readFileSync(`${this.#proc}/meminfo`, "utf8"));
      const utilization = busyShare(this.#previous, times);
      this.#previous = times;
      return { utilization, ...memory };
    } catch {
      return undefined;
    }
  }
}

interface CpuTimes {
  readonly busyTicks: number;
  readonly totalTicks: number;
}

/** The first line of /proc/stat, in clock ticks: user, nice, system, idle, iowait, irq, softirq, steal. */
function cpuTimes(text: string): CpuTimes {
  const [, ...fields] = (text.split("\n", 1)[0] ?? "").trim().split(/\s+/);
  const ticks = fields.slice(0, 8).map(Number);
  const totalTicks = ticks.reduce((sum, value) => sum + value, 0);
  return { totalTicks, busyTicks: totalTicks - (ticks[3] ?? 0) - (ticks[4] ?? 0) };
}

function busyShare(previous: CpuTimes | undefined, now: CpuTimes): number {
  const elapsedTicks = now.totalTicks - (previous?.totalTicks ?? 0);
  if (elapsedTicks <= 0) return 0;
  return Math.min(1, Math.max(0, (now.busyTicks - (previous?.busyTicks ?? 0)) / elapsedTicks));
}

function memoryBytes(text: string): Omit<HostReading, "utilization"> {
  const kibibytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
  const totalKib = kibibytes("MemTotal");
  return {
    memoryTotalBytes: totalKib * BYTES_PER_KIB,
    memoryUsedBytes: (totalKib - kibibytes("MemAvailable")) * BYTES_PER_KIB,
  };
}
