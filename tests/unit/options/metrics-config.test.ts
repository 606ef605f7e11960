import { expect, test } from "bun:test";
import { metricsConfigFrom } from "../../../src/options/metrics-config.ts";
import { parseKeyValue } from "../../../src/options/setting.ts";

function config(...texts: string[]) {
  const warnings: string[] = [];
  const settings = texts.map((text) => parseKeyValue(text, "metrics-config"));
  return { ...metricsConfigFrom(settings, warnings), warnings };
}

test("counters are on and the rest is off unless told otherwise", () => {
  expect(config()).toMatchObject({
    counterLatencies: true,
    histogramLatencies: false,
    summaryLatencies: false,
    warnings: [],
  });
  expect(config().summaryQuantiles.map((q) => q.quantile)).toEqual([0.5, 0.9, 0.95, 0.99, 0.999]);
});

test("only the exact words true and false change a switch", () => {
  expect(config("summary_latencies=true").summaryLatencies).toBe(true);
  const odd = config("summary_latencies=TRUE");
  expect(odd.summaryLatencies).toBe(false);
  expect(odd.warnings).toHaveLength(1);
});

test("a bad pair of a quantile and its error is skipped with a warning, the others stay", () => {
  const { summaryQuantiles, warnings } = config("summary_quantiles=0.5:0.05,2:0.1,x,0.9:0.01");
  expect(summaryQuantiles).toEqual([
    { quantile: 0.5, error: 0.05 },
    { quantile: 0.9, error: 0.01 },
  ]);
  expect(warnings).toHaveLength(2);
});

test("a setting that does not exist is skipped with a warning", () => {
  expect(config("colour=red").warnings[0]).toContain("colour=red is skipped");
});
