import { expect, test } from "bun:test";
import { parseConfigText } from "../../../../src/core/config/parse-config.ts";
import { harmlessWarning, refuseUnserved } from "../../../../src/core/model/refuse-unserved.ts";

const refuse = (text: string) => () =>
  refuseUnserved(parseConfigText(`name: "m" ${text}`, "config.pbtxt").message);

test.each([
  ["model_repository_agents", 'model_repository_agents { agents { name: "checksum" } }'],
  ["batch_input", "batch_input { kind: BATCH_ELEMENT_COUNT }"],
  ["batch_output", "batch_output { kind: BATCH_SCATTER_WITH_INPUT_SHAPE }"],
  ["allow_ragged_batch", 'input { name: "X" allow_ragged_batch: true }'],
  [
    "parameters.TRITON_BATCH_STRATEGY_PATH",
    'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "x.so" } }',
  ],
])("%s is refused by name", (words, text) => {
  expect(refuse(text)).toThrow(
    `the configuration of model 'm' asks for ${words}, which this server does not serve yet`,
  );
});

test("all that is asked for is named at once", () => {
  expect(refuse("batch_output { } batch_input { }")).toThrow("batch_input, batch_output");
});

test.each([
  "",
  "sequence_batching { }",
  "dynamic_batching { priority_levels: 2 default_priority_level: 1 }",
  "response_cache { enable: true }",
  'model_warmup { name: "w" batch_size: 1 }',
  'instance_group { rate_limiter { resources { name: "R" count: 1 } } }',
])("what is served, or has no effect in Triton either, is not refused: %s", (text) => {
  expect(refuse(text)).not.toThrow();
});

test("what costs time but changes no answer is warned of, all at once", () => {
  const warningFor = (text: string) =>
    harmlessWarning(parseConfigText(`name: "m" ${text}`, "config.pbtxt").message);
  expect(warningFor("response_cache { enable: true }")).toBe(
    "the configuration of model 'm' asks for response_cache, which has no effect yet",
  );
  expect(warningFor('model_warmup { name: "w" batch_size: 1 }')).toBeUndefined();
});
