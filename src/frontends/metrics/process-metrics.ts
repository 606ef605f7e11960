import { Gauge, Registry } from "prom-client";

/** Own additions about the server's process, prefixed `tribune_`; read when the page is asked for. */
export class ProcessMetrics {
  readonly #registry = new Registry();

  constructor(version: string) {
    const build = new Gauge({
      name: "tribune_build_info",
      help: "Always 1; the labels tell what runs",
      labelNames: ["version", "bun"],
      registers: [this.#registry],
    });
    build.set({ version, bun: Bun.version }, 1);
    new Gauge({
      name: "tribune_resident_memory_bytes",
      help: "Resident memory of the server's process, in bytes",
      registers: [this.#registry],
      collect() {
        this.set(process.memoryUsage.rss());
      },
    });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
