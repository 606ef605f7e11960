import type { Logger } from "../../base/log.ts";
import { HTTP_STATUS } from "../status.ts";
import { mergeExpositions } from "./exposition.ts";
import { HostMetrics } from "./host-metrics.ts";
import { inferenceMetrics } from "./inference-metrics.ts";
import { type LatencySettings, ModelLatencies } from "./latency-summaries.ts";
import type { MeteredModel } from "./metered-model.ts";
import { ProcessMetrics } from "./process-metrics.ts";

/** What the metrics page needs. */
export interface MetricsFrontendOptions {
  readonly hostname: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly serverVersion: string;
  /** Interval of the readings of the machine, in ms. */
  readonly intervalMs: number;
  readonly hasCpuMetrics: boolean;
  readonly pinnedPoolBytes: number;
  /** Whether the cumulative durations are on the page (`counter_latencies`). */
  readonly hasLatencyCounters: boolean;
  readonly latencies: LatencySettings;
  /** The loaded model versions at this moment. */
  readonly models: () => readonly MeteredModel[];
  /** More Prometheus text, for example of metrics that models make themselves. */
  readonly extraPages?: (() => Promise<readonly string[]>) | undefined;
  readonly logger: Logger;
}

const CONTENT_TYPE = "text/plain; charset=utf-8";

/** A listening metrics page. */
export class MetricsFrontend {
  readonly #options: MetricsFrontendOptions;
  readonly #host: HostMetrics;
  readonly #process: ProcessMetrics;
  /** By model, so that those of a model that is gone go with it. */
  readonly #latencies = new WeakMap<MeteredModel, ModelLatencies>();
  readonly #server: Bun.Server<undefined>;

  private constructor(options: MetricsFrontendOptions) {
    this.#options = options;
    this.#process = new ProcessMetrics(options.serverVersion);
    for (const model of options.models()) this.modelReady(model);
    this.#server = Bun.serve({
      hostname: options.hostname,
      port: options.port,
      fetch: (request) => this.#answer(request),
      error: (error) => this.#unexpected(error),
    });
    this.#host = new HostMetrics(
      options.intervalMs,
      options.hasCpuMetrics,
      options.pinnedPoolBytes,
    );
  }

  /** Begins to listen. @throws Error with code EADDRINUSE where the port is taken. */
  static start(options: MetricsFrontendOptions): MetricsFrontend {
    return new MetricsFrontend(options);
  }

  /** `host:port` that it listens on. */
  get address(): string {
    return `${this.#options.hostname}:${this.#server.port}`;
  }

  /** The one it got, also where 0 was asked for. */
  get port(): number {
    return this.#server.port ?? this.#options.port;
  }

  /** To be told of each model that became ready, so that summaries and histograms miss no request. Idempotent. */
  modelReady(model: MeteredModel): void {
    const { latencies } = this.#options;
    if (!latencies.hasSummaries && !latencies.hasHistograms) return;
    if (!this.#latencies.has(model))
      this.#latencies.set(model, new ModelLatencies(model, latencies));
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
    this.#host[Symbol.dispose]();
    for (const model of this.#options.models()) this.#latencies.get(model)?.[Symbol.dispose]();
  }

  /** The whole page. */
  async text(): Promise<string> {
    const models = this.#options.models();
    const pages = await Promise.all([
      inferenceMetrics(models, this.#options.hasLatencyCounters),
      ...models.map((model) => this.#latencies.get(model)?.text() ?? ""),
      this.#host.text(),
      this.#process.text(),
    ]);
    const extraPages = (await this.#options.extraPages?.()) ?? [];
    return mergeExpositions([...pages, ...extraPages]);
  }

  /** Other paths answer an empty 200, as in Triton; scrapers and probes rely on nothing there. */
  async #answer(request: Request): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Response.json(
        { error: "Method Not Allowed" },
        { status: HTTP_STATUS.methodNotAllowed },
      );
    }
    const { pathname } = new URL(request.url);
    if (pathname !== "/metrics" && pathname !== "/metrics/") return new Response("");
    return new Response(await this.text(), { headers: { "Content-Type": CONTENT_TYPE } });
  }

  #unexpected(error: Error): Response {
    this.#options.logger.error("the metrics page failed", { error: error.message });
    return Response.json({ error: "the metrics page failed" }, { status: HTTP_STATUS.internal });
  }
}
