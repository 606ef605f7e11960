import { describe, expect, test } from "bun:test";
import { ConfigFaults } from "../../../../src/core/config/config-faults.ts";
import { checkFileNames } from "../../../../src/core/config/validate-file-names.ts";
import { configMessage, refusalOf } from "../../../support/config-texts.ts";

function refusal(text: string): string {
  const faults = new ConfigFaults();
  checkFileNames(configMessage(`name: "m" ${text}`), faults);
  return refusalOf(() => faults.throwIfAny());
}

function warmup(file: string): string {
  return `model_warmup { inputs { key: "a" value { input_data_file: "${file}" } } }`;
}

function initialState(file: string): string {
  return `sequence_batching { state { initial_state { data_file: "${file}" } } }`;
}

describe("checkFileNames", () => {
  test.each([
    'default_model_filename: "model.onnx"',
    'default_model_filename: "../shared.onnx"',
    'cc_model_filenames { key: "7.5" value: "sub/model.plan" }',
    'output { label_filename: "labels/a.txt" }',
    'output { label_filename: "..labels" }',
    warmup("../data"),
    initialState("zeros"),
  ])("accepts %s", (text) => {
    expect(refusal(text)).toBe("");
  });

  test.each([
    [
      'default_model_filename: "../../other/1/model.onnx"',
      "default_model_filename '../../other/1/model.onnx'",
    ],
    ['cc_model_filenames { key: "7.5" value: "../../x" }', "cc_model_filenames '../../x'"],
    ['output { label_filename: "../../../etc/passwd" }', "label_filename '../../../etc/passwd'"],
    ['output { label_filename: "a/../../x" }', "label_filename 'a/../../x'"],
    ['output { label_filename: ".." }', "label_filename '..'"],
    ['output { label_filename: "a\\000b" }', "label_filename"],
    [warmup("../../x"), "input_data_file '../../x'"],
    [initialState("../../x"), "data_file '../../x'"],
  ])("refuses %s", (text, expected) => {
    expect(refusal(text)).toContain(expected);
    expect(refusal(text)).toEndWith("of model 'm' must stay within the model directory");
  });
});
