import { describe, expect, test } from "bun:test";
import { validateConfig } from "../../../../src/core/config/validate-config.ts";
import { configMessage, GOOD_CONFIG, refusalOf } from "../../../support/config-texts.ts";

function refusal(text: string): string {
  return refusalOf(() => validateConfig(configMessage(text)));
}

const ENSEMBLE = 'name: "e" platform: "ensemble" ';

describe("validateConfig", () => {
  test.each([
    ["a whole configuration", GOOD_CONFIG],
    ["no tensor yet", 'name: "m" backend: "identity"'],
    ["any platform of a free backend", 'name: "m" backend: "my_own" platform: "x"'],
    ["the backend's own platform", 'name: "m" backend: "pytorch" platform: "torch_aoti"'],
    ["a cached model", `${GOOD_CONFIG} response_cache { enable: true } dynamic_batching {}`],
    ["a cache that is off", `${GOOD_CONFIG} response_cache {} sequence_batching {}`],
    [
      "a metric with ascending buckets",
      `${GOOD_CONFIG} model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: [ 1, 2.5 ] } } }`,
    ],
    [
      "a warm-up sample",
      `${GOOD_CONFIG} model_warmup { batch_size: 1 inputs { key: "a" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }`,
    ],
  ])("accepts %s", (_name, text) => {
    expect(refusal(text)).toBe("");
  });

  test.each([
    [GOOD_CONFIG.replace("8", "-1"), "'max_batch_size' must be non-negative value for m"],
    [
      `${GOOD_CONFIG} platform: "zzz"`,
      "unexpected 'platform' and 'backend' pair, got:zzz, onnxruntime",
    ],
    [
      `${GOOD_CONFIG} platform: "tensorrt_plan"`,
      "unexpected 'platform' and 'backend' pair, got:tensorrt_plan, onnxruntime",
    ],
    ['name: "m" platform: "zzz"', "unexpected platform type 'zzz' for m"],
    ['name: "m"', "must specify 'platform' or 'backend' for 'm'"],
    [
      `${ENSEMBLE} backend: "onnxruntime" ensemble_scheduling {}`,
      "Ensemble model 'e' must have platform type 'ensemble' and empty backend type",
    ],
    [ENSEMBLE, "ensemble scheduling must be set for ensemble e whose platform is ensemble"],
    [
      `${GOOD_CONFIG} response_cache { enable: true } model_transaction_policy { decoupled: true }`,
      "with 'decoupled' transaction policy",
    ],
    [
      `${GOOD_CONFIG} response_cache { enable: true } sequence_batching {}`,
      "with sequence batching scheduler",
    ],
    [
      `${GOOD_CONFIG} instance_group { rate_limiter { resources { count: 1 } } }`,
      "rate limiter resource of instance group 0 must specify 'name' for m",
    ],
    [
      `${GOOD_CONFIG} model_warmup { name: "w" inputs { key: "a" value { dims: -1 } } }`,
      "warmup sample 'w', input 'a' must specify 'data_type' for m; " +
        "warmup sample 'w', input 'a' must specify fixed dimensions for m, got [-1]; " +
        "warmup sample 'w', input 'a' must specify one of 'zero_data', 'random_data' or 'input_data_file' for m",
    ],
    [
      `${GOOD_CONFIG} model_metrics { metric_control { histogram_options { buckets: [ 2, 1 ] } } }`,
      "metric_control must specify 'metric_identifier.family' for m; " +
        "metric_control of family '' must have ascending 'histogram_options.buckets' for m, got [2,1]",
    ],
    [
      `${GOOD_CONFIG} model_metrics { metric_control { metric_identifier { family: "f" } } }`,
      "metric_control of family 'f' must specify 'histogram_options.buckets' for m",
    ],
    [`${GOOD_CONFIG} default_model_filename: "../../x"`, "must stay within the model directory"],
  ])("refuses contradiction %#", (text, expected) => {
    expect(refusal(text)).toContain(expected);
  });

  test("tells all faults at once", () => {
    const text = `${GOOD_CONFIG.replace("8", "-1")} platform: "zzz" dynamic_batching { preferred_batch_size: 0 }`;
    expect(refusal(text).split("; ")).toEqual([
      "unexpected 'platform' and 'backend' pair, got:zzz, onnxruntime",
      "'max_batch_size' must be non-negative value for m",
      "dynamic batching preferred size must be positive for m",
    ]);
  });
});
