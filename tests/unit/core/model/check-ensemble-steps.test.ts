import { expect, test } from "bun:test";
import type { ModelConfig } from "../../../../src/core/config/model-config.ts";
import { modelConfigFromMessage } from "../../../../src/core/config/model-config-from.ts";
import { checkEnsembleSteps } from "../../../../src/core/model/check-ensemble-steps.ts";
import { configMessage, refusalOf } from "../../../support/config-texts.ts";
import { ensembleText, type StepText } from "../../../support/ensemble-setup.ts";
import { type SampleTensor, sampleConfig } from "../../../support/sample-config.ts";

/** An ensemble of INT32 tensors of any length. */
function ensemble(steps: readonly StepText[], extra = ""): Promise<ModelConfig> {
  const text = ensembleText(["IN"], ["OUT"], steps);
  return modelConfigFromMessage(configMessage(`${text}\n${extra}`), "/nowhere");
}

function model(name: string, change: Partial<SampleTensor> = {}, maxBatchSize = 0): ModelConfig {
  const tensor = { datatype: "INT32" as const, dims: [-1], ...change };
  return sampleConfig({
    name,
    maxBatchSize,
    inputs: [{ ...tensor, name: "X" }],
    outputs: [{ ...tensor, name: "Y" }],
  });
}

const ONE: readonly StepText[] = [["a", { X: "IN" }, { Y: "OUT" }]];
const TWO: readonly StepText[] = [
  ["a", { X: "IN" }, { Y: "t" }],
  ["b", { X: "t" }, { Y: "OUT" }],
];

test("steps that fit are fine, and a batch dimension counts as one of any size", async () => {
  checkEnsembleSteps(await ensemble(TWO), [model("a"), model("b", { dims: [3] })]);
  checkEnsembleSteps(await ensemble(ONE), [model("a", { dims: [] }, 8)]);
});

test("an optional input need not be mapped", async () => {
  const config = model("a");
  const extra = { ...config.inputs[0], name: "E", isOptional: true };
  const inputs = [...config.inputs, extra as (typeof config.inputs)[number]];
  checkEnsembleSteps(await ensemble(ONE), [{ ...config, inputs }]);
});

const FAULTS: readonly [string, readonly StepText[], string, readonly ModelConfig[], string][] = [
  [
    "an input that is not mapped",
    [["a", { X: "IN" }, { Y: "OUT" }]],
    "",
    [
      {
        ...model("a"),
        inputs: [
          ...model("a").inputs,
          ...model("z").inputs.map((spec) => ({ ...spec, name: "B" })),
        ],
      },
    ],
    "in ensemble e, input B in model a is not mapped to any ensemble tensors",
  ],
  [
    "an input that is not there",
    [["a", { NOPE: "IN" }, { Y: "OUT" }]],
    "",
    [model("a")],
    "in ensemble e, ensemble tensor IN is mapping to non-existing input NOPE in model a",
  ],
  [
    "an output that is not there",
    [["a", { X: "IN" }, { NOPE: "OUT" }]],
    "",
    [model("a")],
    "in ensemble e, ensemble tensor OUT is mapped from non-existing output NOPE in model a",
  ],
  [
    "types that differ",
    TWO,
    "",
    [model("a"), model("b", { datatype: "BYTES" })],
    "in ensemble e, ensemble tensor t: inconsistent data type: TYPE_INT32 is inferred from model a while TYPE_STRING is inferred from model b",
  ],
  [
    "shapes that differ",
    ONE,
    "",
    [model("a", { dims: [2, 2] })],
    "in ensemble e, ensemble tensor IN: inconsistent shape: [-1] is inferred from model e while [2,2] is inferred from model a",
  ],
  [
    "a step that batches less",
    ONE,
    "max_batch_size: 8",
    [model("a", {}, 4)],
    "ensemble e allows maximum batch size 8, but it contains model a which only allows maximum batch size to be 4",
  ],
];

test.each(FAULTS)("%s is refused in Triton's words", async (_, steps, extra, models, text) => {
  const config = await ensemble(steps, extra);
  expect(refusalOf(() => checkEnsembleSteps(config, models))).toBe(text);
});
