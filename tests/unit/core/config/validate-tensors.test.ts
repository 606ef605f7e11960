import { describe, expect, test } from "bun:test";
import { validateTensors } from "../../../../src/core/config/validate-tensors.ts";
import { configMessage, GOOD_CONFIG, refusalOf } from "../../../support/config-texts.ts";

const OUTPUT = '{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }';

function config(input: string, batch = 8, output = OUTPUT, rest = ""): string {
  return `name: "m" backend: "b" max_batch_size: ${batch} input [ ${input} ] output [ ${output} ] ${rest}`;
}

function refusal(text: string, scalarTensors: readonly string[] = []): string {
  const options = { scalarTensors: new Set(scalarTensors) };
  return refusalOf(() => validateTensors(configMessage(text), options));
}

function named(rest: string): string {
  return `{ name: "INPUT0" data_type: TYPE_FP32 ${rest} }`;
}

const RAGGED = named("dims: -1 allow_ragged_batch: true");

function batchInput(rest: string): string {
  return `batch_input { kind: BATCH_ELEMENT_COUNT ${rest} }`;
}

describe("validateTensors", () => {
  test.each([
    GOOD_CONFIG,
    'name: "m" backend: "b"',
    config(named("dims: [ -1, 2, 3 ] reshape { shape: [ -1, 6 ] }")),
    config(named("dims: 1 reshape { shape: [] }")),
    config(named("format: FORMAT_NHWC dims: [ 2, 2, 3 ]")),
    config(
      RAGGED,
      8,
      OUTPUT,
      batchInput('target_name: "C" data_type: TYPE_INT32 source_input: "INPUT0"'),
    ),
    config(named("dims: 4 is_shape_tensor: true"), 8, OUTPUT, 'platform: "tensorrt_plan"'),
    config(
      named("dims: 4"),
      8,
      OUTPUT,
      'batch_output { target_name: "OUTPUT0" source_input: "INPUT0" }',
    ),
  ])("accepts %#", (text) => {
    expect(refusal(text)).toBe("");
  });

  test.each([
    ["{ data_type: TYPE_FP32 dims: 1 }", "model input must specify 'name' for m"],
    ['{ name: "INPUT0" dims: [ 4 ] }', "model input 'INPUT0' must specify 'data_type' for m"],
    [named("dims: []"), "model input 'INPUT0' must specify 'dims' for m"],
    [
      named("dims: [ 0 ]"),
      "model input 'INPUT0' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m",
    ],
    [named("dims: [ 4, -2 ]"), "model input 'INPUT0' dimension must be integer >= 1"],
    [
      named("dims: [ 2, 3 ] reshape { shape: 4 }"),
      "model input 'INPUT0' has different size for dims and reshape for m",
    ],
    [
      named("dims: [ -1, 3 ] reshape { shape: 3 }"),
      "model input 'INPUT0' has different number of variable-size dimensions for dims and reshape for m",
    ],
    [
      named("dims: 4 reshape { shape: 0 }"),
      "model input 'INPUT0' reshape dimensions must be integer >= 1",
    ],
    [
      named("format: FORMAT_NCHW dims: [ 4 ]"),
      "model input 'INPUT0': NHWC/NCHW require 3 dims for m",
    ],
    [
      named("dims: 4 is_shape_tensor: true"),
      "shape tensors are only supported for platform 'tensorrt_plan' for m",
    ],
    [named("dims: 4 is_non_linear_format_io: true"), "non-linear format requires 3 dims for m"],
    [
      `${named("dims: 4")}, ${named("dims: 4")}`,
      "model input 'INPUT0' is specified more than once for m",
    ],
  ])("refuses the input %s", (input, expected) => {
    expect(refusal(config(input))).toContain(expected);
  });

  test("speaks of outputs in the same words", () => {
    const output = '{ name: "OUTPUT0" dims: [] }';
    expect(refusal(config(named("dims: 4"), 8, output))).toBe(
      "model output 'OUTPUT0' must specify 'data_type' for m; model output 'OUTPUT0' must specify 'dims' for m",
    );
  });

  test("needs batching for ragged inputs", () => {
    expect(refusal(config(RAGGED, 0))).toContain(
      "'allow_ragged_batch' needs a max_batch_size > 0 for m",
    );
  });

  test.each([
    [
      batchInput("data_type: TYPE_INT32"),
      "'BATCH_ELEMENT_COUNT' expects 1 source input, got 0 for m",
    ],
    [batchInput('source_input: "X"'), "unknown source input name 'X' for m"],
    [batchInput('source_input: "INPUT0"'), "must specify 'target_name' for m"],
    [
      batchInput('target_name: "INPUT0"'),
      "target 'INPUT0' must not be a model input of the configuration for m",
    ],
    [batchInput("data_type: TYPE_INT64"), "data type must be TYPE_INT32 or TYPE_FP32 for m"],
    ["batch_output {}", "'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 0 for m"],
    [
      'batch_output { target_name: "X" source_input: "INPUT0" }',
      "unknown target output name 'X' for m",
    ],
    ['batch_output { source_input: "INPUT0" }', "must specify 'target_name' for m"],
  ])("refuses %s", (rest, expected) => {
    expect(refusal(config(RAGGED, 8, OUTPUT, rest))).toContain(expected);
  });

  describe("an empty reshape without batching", () => {
    const scalar = (name: string) =>
      `{ name: "${name}" data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }`;
    const words =
      "cannot have empty reshape for non-batching model as scalar tensors are not supported for m";

    test("is accepted where the model file has scalars", () => {
      expect(refusal(config(scalar("INPUT0"), 0, scalar("OUTPUT0")), ["INPUT0", "OUTPUT0"])).toBe(
        "",
      );
    });

    test("is refused where it has none, or is not known", () => {
      expect(refusal(config(scalar("INPUT0"), 0))).toContain(words);
      expect(refusal(config(scalar("INPUT0"), 0), ["OUTPUT0"])).toContain(words);
    });

    test("is refused where another scalar of the file is declared as something else", () => {
      expect(refusal(config(scalar("INPUT0"), 0), ["INPUT0", "OUTPUT0"])).toContain(words);
    });
  });
});
