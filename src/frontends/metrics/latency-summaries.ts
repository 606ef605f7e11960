import { Histogram, Registry, Summary } from "prom-client";
import type { SuccessRecord } from "../../core/statistics/model-statistics.ts";
import { labelsOf, type MeteredModel } from "./metered-model.ts";

const NS_PER_MICROSECOND = 1000;
const NS_PER_MS = 1_000_000;

/** Quantiles of a summary are taken over the last minute, in five steps, as in Triton. */
const WINDOW_SECONDS = 60;
const WINDOW_STEP_COUNT = 5;

/** Bounds of `nv_inference_first_response_histogram_ms` where the model's configuration gives none. */
const DEFAULT_BUCKETS_MS: readonly number[] = [100, 5e2, 2000, 5000];

const SUMMARIES: readonly { readonly part: string; readonly read: (r: SuccessRecord) => number }[] =
  [
    { part: "request", read: (r) => r.requestNs },
    { part: "queue", read: (r) => r.queueNs },
    { part: "compute_input", read: (r) => r.computeInputNs },
    { part: "compute_infer", read: (r) => r.computeInferNs },
    { part: "compute_output", read: (r) => r.computeOutputNs },
  ];

/** What `--metrics-config` asks of the latencies. */
export interface LatencySettings {
  readonly hasSummaries: boolean;
  readonly hasHistograms: boolean;
  /** Quantiles of the summaries, each in (0, 1). */
  readonly quantiles: readonly number[];
}

/**
 * The summaries and the histogram of one model version. Listens to its statistics from the load on; nothing else of
 * the metrics costs anything per request.
 */
export class ModelLatencies implements Disposable {
  readonly #model: MeteredModel;
  readonly #registry = new Registry();

  constructor(model: MeteredModel, settings: LatencySettings, bucketsMs = DEFAULT_BUCKETS_MS) {
    this.#model = model;
    const labels = labelsOf(model);
    const observers: ((record: SuccessRecord) => void)[] = [];
    if (settings.hasSummaries) {
      for (const { part, read } of SUMMARIES) {
        const summary = this.#summary(part, labels, settings.quantiles);
        // A series exists from its first value on; reset keeps it and forgets the value.
        summary.observe(labels, 0);
        summary.reset();
        observers.push((record) => summary.observe(labels, read(record) / NS_PER_MICROSECOND));
      }
    }
    if (settings.hasHistograms) {
      const histogram = new Histogram({
        name: "nv_inference_first_response_histogram_ms",
        help: "Duration from request to first response in milliseconds",
        labelNames: Object.keys(labels),
        buckets: [...bucketsMs],
        registers: [this.#registry],
      });
      histogram.zero(labels);
      observers.push((record) => histogram.observe(labels, record.requestNs / NS_PER_MS));
    }
    model.statistics.onSuccess = (record) => {
      for (const observe of observers) observe(record);
    };
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  [Symbol.dispose](): void {
    this.#model.statistics.onSuccess = undefined;
    this.#registry.clear();
  }

  #summary(
    part: string,
    labels: Record<string, string>,
    quantiles: readonly number[],
  ): Summary<string> {
    return new Summary({
      name: `nv_inference_${part}_summary_us`,
      help: `Summary of inference ${part.replace("_", " ")} duration in microseconds`,
      labelNames: Object.keys(labels),
      percentiles: [...quantiles],
      maxAgeSeconds: WINDOW_SECONDS,
      ageBuckets: WINDOW_STEP_COUNT,
      registers: [this.#registry],
    });
  }
}
