import { Counter, Gauge, Registry } from "prom-client";
import type { ModelStatisticsSnapshot } from "../../core/statistics/model-statistics.ts";
import { labelsOf, type MeteredModel } from "./metered-model.ts";

const NS_PER_MICROSECOND = 1000;
const NS_PER_SECOND = 1e9;

/** One counter of the page and where its value stands. */
interface CounterRow {
  readonly name: string;
  readonly help: string;
  readonly read: (snapshot: ModelStatisticsSnapshot) => number;
}

/** Counted whatever the flags say. @see Triton docs, "Metrics". */
const COUNTERS: readonly CounterRow[] = [
  {
    name: "nv_inference_request_success",
    help: "Number of successful inference requests, all batch sizes",
    read: (s) => s.success.count,
  },
  {
    name: "nv_inference_count",
    help: "Number of inferences performed (does not include cached requests)",
    read: (s) => s.inferenceCount,
  },
  {
    name: "nv_inference_exec_count",
    help: "Number of model executions performed (does not include cached requests)",
    read: (s) => s.executionCount,
  },
];

/** Cumulative durations; `counter_latencies` of --metrics-config. */
const LATENCY_COUNTERS: readonly CounterRow[] = [
  {
    name: "nv_inference_request_duration_us",
    help: "Cumulative inference request duration in microseconds (includes cached requests)",
    read: (s) => s.success.ns,
  },
  {
    name: "nv_inference_queue_duration_us",
    help: "Cumulative inference queuing duration in microseconds (includes cached requests)",
    read: (s) => s.queue.ns,
  },
  {
    name: "nv_inference_compute_input_duration_us",
    help: "Cumulative compute input duration in microseconds (does not include cached requests)",
    read: (s) => s.computeInput.ns,
  },
  {
    name: "nv_inference_compute_infer_duration_us",
    help: "Cumulative compute inference duration in microseconds (does not include cached requests)",
    read: (s) => s.computeInfer.ns,
  },
  {
    name: "nv_inference_compute_output_duration_us",
    help: "Cumulative compute output duration in microseconds (does not include cached requests)",
    read: (s) => s.computeOutput.ns,
  },
];

/** Series of models with a response cache. */
const CACHE_COUNTERS: readonly CounterRow[] = [
  {
    name: "nv_cache_num_hits_per_model",
    help: "Number of cache hits per model",
    read: (s) => s.cacheHit.count,
  },
  {
    name: "nv_cache_num_misses_per_model",
    help: "Number of cache misses per model",
    read: (s) => s.cacheMiss.count,
  },
];

const CACHE_LATENCY_COUNTERS: readonly CounterRow[] = [
  {
    name: "nv_cache_hit_duration_per_model",
    help: "Total cache hit duration per model, in microseconds",
    read: (s) => s.cacheHit.ns,
  },
  {
    name: "nv_cache_miss_duration_per_model",
    help: "Total cache miss duration per model, in microseconds",
    read: (s) => s.cacheMiss.ns,
  },
];

/**
 * The inference series of all loaded models as Prometheus text. Made afresh for each page, so that the labels may
 * differ from model to model (`metric_tags`) and a model that was unloaded leaves nothing behind.
 *
 * @param hasLatencies whether the cumulative durations are wanted.
 */
export function inferenceMetrics(
  models: readonly MeteredModel[],
  hasLatencies: boolean,
): Promise<string> {
  const registry = new Registry();
  const measured = models.map((model) => ({
    model,
    labels: labelsOf(model),
    snapshot: model.statistics.snapshot(),
    hasCache: model.config.message.responseCache?.enable === true,
  }));
  const tagNames = new Set(models.flatMap((model) => Object.keys(model.config.metricTags)));
  const labelNames = ["model", "version", ...tagNames];
  const addCounters = (
    rows: readonly CounterRow[],
    divisor: number,
    isShown: (hasCache: boolean) => boolean,
  ): void => {
    for (const { name, help, read } of rows) {
      const shown = measured.filter(({ hasCache }) => isShown(hasCache));
      if (shown.length === 0 && rows !== COUNTERS) continue;
      const counter = new Counter({ name, help, labelNames, registers: [registry] });
      for (const { labels, snapshot } of shown) {
        counter.inc(labels, Math.floor(read(snapshot) / divisor));
      }
    }
  };
  const always = (): boolean => true;
  const onlyCached = (hasCache: boolean): boolean => hasCache;
  addCounters(COUNTERS, 1, always);
  addCounters(CACHE_COUNTERS, 1, onlyCached);
  if (hasLatencies) {
    addCounters(LATENCY_COUNTERS, NS_PER_MICROSECOND, always);
    addCounters(CACHE_LATENCY_COUNTERS, NS_PER_MICROSECOND, onlyCached);
  }
  const failures = new Counter({
    name: "nv_inference_request_failure",
    help: "Number of failed inference requests, all batch sizes",
    labelNames: [...labelNames, "reason"],
    registers: [registry],
  });
  for (const { labels, snapshot } of measured) {
    for (const [reason, count] of Object.entries(snapshot.failuresByReason)) {
      failures.inc({ ...labels, reason }, count);
    }
  }
  const gauge = (name: string, help: string, read: (model: MeteredModel) => number): void => {
    const made = new Gauge({ name, help, labelNames, registers: [registry] });
    for (const { model, labels } of measured) made.set(labels, read(model));
  };
  gauge(
    "nv_inference_pending_request_count",
    "Instantaneous number of pending requests awaiting execution per-model.",
    (model) => model.scheduler.pendingCount,
  );
  gauge(
    "nv_model_load_duration_secs",
    "Model load time in seconds",
    (model) => model.loadDurationNs / NS_PER_SECOND,
  );
  return registry.metrics();
}
