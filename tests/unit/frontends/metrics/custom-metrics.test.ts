import { describe, expect, test } from "bun:test";
import { CustomMetrics } from "../../../../src/frontends/metrics/custom-metrics.ts";

const COUNTER = 0;
const GAUGE = 1;
const HISTOGRAM = 2;

/** Samples of the page, without comments. */
async function samples(metrics: CustomMetrics): Promise<string[]> {
  const lines = (await metrics.text()).flatMap((page) => page.split("\n"));
  return lines.filter((line) => line !== "" && !line.startsWith("#")).sort();
}

describe("values", () => {
  test("a counter goes up from 0 and stands on the page with its labels", async () => {
    const metrics = new CustomMetrics(true);
    const family = metrics.family("requests_seen", "Requests seen", COUNTER);
    const metric = metrics.metric(family, { model: "m" }, undefined);
    expect(await samples(metrics)).toEqual(['requests_seen{model="m"} 0']);
    metrics.change(metric, "increment", 2.5);
    expect(metrics.value(metric)).toBe(2.5);
    expect(await samples(metrics)).toEqual(['requests_seen{model="m"} 2.5']);
    expect((await metrics.text())[0]).toContain("# HELP requests_seen Requests seen");
  });

  test("a gauge is set and moved both ways", () => {
    const metrics = new CustomMetrics(true);
    const metric = metrics.metric(metrics.family("depth", "d", GAUGE), {}, undefined);
    metrics.change(metric, "set", 10);
    metrics.change(metric, "increment", -4);
    expect(metrics.value(metric)).toBe(6);
  });

  test("a histogram counts observations in its buckets", async () => {
    const metrics = new CustomMetrics(true);
    const metric = metrics.metric(metrics.family("sizes", "s", HISTOGRAM), {}, [1, 10]);
    for (const value of [0.5, 5, 50]) metrics.change(metric, "observe", value);
    expect(await samples(metrics)).toEqual([
      'sizes_bucket{le="+Inf"} 3',
      'sizes_bucket{le="1"} 1',
      'sizes_bucket{le="10"} 2',
      "sizes_count 3",
      "sizes_sum 55.5",
    ]);
    expect(() => metrics.value(metric)).toThrow("a histogram has no single value");
  });

  test.each([
    [COUNTER, "set", 1, "a counter cannot set"],
    [COUNTER, "increment", -1, "by 0 or more: it was given -1"],
    [GAUGE, "observe", 1, "a gauge cannot observe"],
    [HISTOGRAM, "increment", 1, "a histogram cannot increment"],
  ])("kind %p refuses to %s %p", (kind, operation, value, text) => {
    const metrics = new CustomMetrics(true);
    const metric = metrics.metric(metrics.family("x", "d", kind), {}, [1]);
    expect(() => metrics.change(metric, operation, value)).toThrow(text);
  });

  test("a refused NaN leaves a counter's value as it was", () => {
    const metrics = new CustomMetrics(true);
    const metric = metrics.metric(metrics.family("x", "d", COUNTER), {}, undefined);
    metrics.change(metric, "increment", 1);
    expect(() => metrics.change(metric, "increment", Number.NaN)).toThrow("it was given NaN");
    expect(metrics.value(metric)).toBe(1);
  });
});

describe("families", () => {
  test("models that name the same family and labels share one series", () => {
    const metrics = new CustomMetrics(true);
    const [one, other] = [0, 1].map(() =>
      metrics.metric(metrics.family("shared", "d", COUNTER), { b: "2", a: "1" }, undefined),
    );
    metrics.change(one ?? -1, "increment", 1);
    expect(metrics.value(other ?? -1)).toBe(1);
    expect(other).not.toBe(one);
  });

  test("the same name with another kind or description is refused, saying what there is", () => {
    const metrics = new CustomMetrics(true);
    metrics.family("x", "first", COUNTER);
    const text = "'x' exists already as a counter with description 'first'";
    expect(() => metrics.family("x", "first", GAUGE)).toThrow(text);
    expect(() => metrics.family("x", "second", COUNTER)).toThrow(text);
  });

  test("a series leaves the page with its last user, and its name is then free", async () => {
    const metrics = new CustomMetrics(true);
    const families = [0, 1].map(() => metrics.family("x", "d", COUNTER));
    const series = families.map((family) => metrics.metric(family, {}, undefined));
    for (const family of families) metrics.releaseFamily(family);
    metrics.releaseMetric(series[0] ?? -1);
    metrics.releaseMetric(series[0] ?? -1);
    expect(await samples(metrics)).toEqual(["x 0"]);
    metrics.releaseMetric(series[1] ?? -1);
    expect(await samples(metrics)).toEqual([]);
    expect(metrics.family("x", "other", GAUGE)).toBeGreaterThan(0);
  });

  test("what was released is refused afterwards", () => {
    const metrics = new CustomMetrics(true);
    const family = metrics.family("x", "d", COUNTER);
    const metric = metrics.metric(family, {}, undefined);
    metrics.releaseFamily(family);
    metrics.releaseMetric(metric);
    expect(() => metrics.metric(family, {}, undefined)).toThrow("family has been deleted");
    expect(() => metrics.change(metric, "increment", 1)).toThrow("metric has been deleted");
    expect(() => metrics.value(metric)).toThrow("metric has been deleted");
  });

  test("names that Prometheus does not take are refused", () => {
    const metrics = new CustomMetrics(true);
    expect(() => metrics.family("1x", "d", COUNTER)).toThrow("'1x' is no metric name");
    const family = metrics.family("x", "d", COUNTER);
    expect(() => metrics.metric(family, { "a-b": "1" }, undefined)).toThrow("'a-b' is no label");
  });

  test("without metrics in the server every family is refused", () => {
    expect(() => new CustomMetrics(false).family("x", "d", COUNTER)).toThrow(
      "metrics not supported",
    );
  });
});
