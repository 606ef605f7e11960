import { afterEach, expect, test } from "bun:test";
import { ModelCounters } from "../../../../src/core/statistics/model-counters.ts";
import type { MeteredModel } from "../../../../src/frontends/metrics/metered-model.ts";
import {
  MetricsFrontend,
  type MetricsFrontendOptions,
} from "../../../../src/frontends/metrics/metrics-frontend.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";

const RECORD = {
  requestNs: 5_000_000,
  queueNs: 1_000_000,
  computeInputNs: 1_000_000,
  computeInferNs: 2_000_000,
  computeOutputNs: 1_000_000,
};

function model(name: string, tags: Record<string, string> = {}): MeteredModel {
  return {
    name,
    versionText: "1",
    config: { metricTags: tags, message: {} },
    scheduler: { pendingCount: 3 },
    statistics: new ModelCounters(),
    loadDurationNs: 250_000_000,
  };
}

let frontend: MetricsFrontend | undefined;

afterEach(async () => {
  await frontend?.stop();
  frontend = undefined;
});

function start(models: MeteredModel[], change: Partial<MetricsFrontendOptions> = {}): string {
  frontend = MetricsFrontend.start({
    hostname: "127.0.0.1",
    port: 0,
    serverVersion: "0.0.0",
    intervalMs: 2000,
    hasCpuMetrics: true,
    pinnedPoolBytes: 256,
    hasLatencyCounters: true,
    latencies: { hasSummaries: false, hasHistograms: false, quantiles: [0.5, 0.9] },
    models: () => models,
    logger: new RecordingLogger(),
    ...change,
  });
  return `http://${frontend.address}`;
}

async function page(url: string): Promise<string[]> {
  return (await (await fetch(`${url}/metrics`)).text()).split("\n");
}

test("every series of a model is there before its first request", async () => {
  const lines = await page(start([model("m")]));
  expect(lines).toContain('nv_inference_request_success{model="m",version="1"} 0');
  expect(lines).toContain('nv_inference_pending_request_count{model="m",version="1"} 3');
  expect(lines).toContain('nv_model_load_duration_secs{model="m",version="1"} 0.25');
  for (const reason of ["REJECTED", "CANCELED", "BACKEND", "OTHER"]) {
    const series = `nv_inference_request_failure{model="m",version="1",reason="${reason}"} 0`;
    expect(lines).toContain(series);
  }
});

test("durations are whole microseconds, and only where they are wanted", async () => {
  const m = model("m");
  m.statistics.recordSuccess(RECORD);
  const url = start([m]);
  expect(await page(url)).toContain('nv_inference_request_duration_us{model="m",version="1"} 5000');
  await frontend?.stop();
  const without = await page(start([m], { hasLatencyCounters: false }));
  expect(without.filter((line) => line.includes("duration_us"))).toEqual([]);
  expect(without).toContain('nv_inference_request_success{model="m",version="1"} 1');
});

test("metric tags are labels of their model alone", async () => {
  const lines = await page(start([model("a", { _team: "vision" }), model("b")]));
  expect(lines).toContain('nv_inference_count{model="a",version="1",_team="vision"} 0');
  expect(lines).toContain('nv_inference_count{model="b",version="1"} 0');
  expect(lines.filter((line) => line === "# TYPE nv_inference_count counter")).toHaveLength(1);
});

test("summaries of several models share one family and carry the asked quantiles", async () => {
  const models = [model("a"), model("b")];
  const url = start(models, {
    latencies: { hasSummaries: true, hasHistograms: true, quantiles: [0.5] },
  });
  expect(await page(url)).toContain(
    'nv_inference_request_summary_us_count{model="a",version="1"} 0',
  );
  for (const m of models) m.statistics.recordSuccess(RECORD);
  const lines = await page(url);
  expect(lines.filter((l) => l === "# TYPE nv_inference_request_summary_us summary")).toHaveLength(
    1,
  );
  expect(lines).toContain('nv_inference_request_summary_us_count{model="a",version="1"} 1');
  expect(lines).toContain(
    'nv_inference_queue_summary_us{quantile="0.5",model="b",version="1"} 1000',
  );
  expect(lines).toContain(
    'nv_inference_first_response_histogram_ms_bucket{le="100",model="a",version="1"} 1',
  );
});

test("a model that is loaded later is measured from its first request on", async () => {
  const models: MeteredModel[] = [];
  const url = start(models, {
    latencies: { hasSummaries: true, hasHistograms: false, quantiles: [0.5] },
  });
  const late = model("late");
  frontend?.modelReady(late);
  late.statistics.recordSuccess(RECORD);
  models.push(late);
  expect(await page(url)).toContain(
    'nv_inference_request_summary_us_count{model="late",version="1"} 1',
  );
});

test("an unloaded model leaves the page", async () => {
  const m = model("m");
  const models = [m];
  const url = start(models, {
    latencies: { hasSummaries: true, hasHistograms: false, quantiles: [0.5] },
  });
  expect((await page(url)).filter((line) => line.includes('model="m"'))).not.toEqual([]);
  models.length = 0;
  expect((await page(url)).filter((line) => line.includes('model="m"'))).toEqual([]);
});

test("the machine's figures are there, and no CPU figures where they are not wanted", async () => {
  const value = (lines: string[], name: string): number =>
    Number(lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
  const lines = await page(start([]));
  const total = value(lines, "nv_cpu_memory_total_bytes");
  expect(total).toBeGreaterThan(value(lines, "nv_cpu_memory_used_bytes"));
  expect(value(lines, "nv_pinned_memory_pool_total_bytes")).toBe(256);
  await frontend?.stop();
  const quiet = await page(start([], { hasCpuMetrics: false }));
  expect(quiet.filter((line) => line.includes("nv_cpu"))).toEqual([]);
});

test("other verbs are refused, other paths are empty, and the type is Prometheus text", async () => {
  const url = start([]);
  expect((await fetch(`${url}/metrics`, { method: "POST" })).status).toBe(405);
  const other = await fetch(`${url}/nothing`);
  expect([other.status, await other.text()]).toEqual([200, ""]);
  expect((await fetch(`${url}/metrics/`)).headers.get("content-type")).toBe(
    "text/plain; charset=utf-8",
  );
});
