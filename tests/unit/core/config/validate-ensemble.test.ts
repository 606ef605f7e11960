import { describe, expect, test } from "bun:test";
import { ConfigFaults } from "../../../../src/core/config/config-faults.ts";
import { checkEnsemble } from "../../../../src/core/config/validate-ensemble.ts";
import { configMessage, refusalOf } from "../../../support/config-texts.ts";

type Names = Readonly<Record<string, string>>;

function step(model: string, inputs: Names, outputs: Names, rest = "model_version: -1"): string {
  const entries = (field: string, names: Names) =>
    Object.entries(names)
      .map(([key, value]) => `${field} { key: "${key}" value: "${value}" } `)
      .join("");
  return `step { model_name: "${model}" ${rest} ${entries("input_map", inputs)} ${entries("output_map", outputs)} } `;
}

function refusal(inputs: string[], outputs: string[], steps: string, rest = ""): string {
  const tensors = (kind: string, names: string[]) =>
    names.map((name) => `${kind} { name: "${name}" data_type: TYPE_FP32 dims: -1 } `).join("");
  const message = configMessage(
    `name: "e" platform: "ensemble" ${tensors("input", inputs)} ${tensors("output", outputs)} ${rest}` +
      `ensemble_scheduling { ${steps} }`,
  );
  const faults = new ConfigFaults();
  if (message.schedulingChoice.case === "ensembleScheduling") {
    checkEnsemble(message, message.schedulingChoice.value, faults);
  }
  return refusalOf(() => faults.throwIfAny());
}

const A = step("a", { I: "IN" }, { O: "OUT" });

describe("checkEnsemble", () => {
  test("accepts chains, forks and joins, in any order of steps", () => {
    expect(refusal(["IN"], ["OUT"], A)).toBe("");
    const join = step("c", { X: "x", Y: "y" }, { O: "OUT" });
    const fork = step("a", { I: "IN" }, { X: "x", Y: "t" }) + step("b", { I: "t" }, { O: "y" });
    expect(refusal(["IN"], ["OUT", "t"], join + fork)).toBe("");
  });

  test.each([
    ["", "must specify 'step' for ensemble 'e'"],
    [step("", { I: "IN" }, { O: "OUT" }), "must specify 'model_name' in step 0 of ensemble 'e'"],
    [step("a", {}, { O: "OUT" }), "must specify 'input_map' in step 0 of ensemble 'e'"],
    [step("a", { I: "IN" }, {}), "must specify 'output_map' in step 0 of ensemble 'e'"],
    [step("../secret", { I: "IN" }, { O: "OUT" }), "must be the name of a model, got '../secret'"],
    [step("..", { I: "IN" }, { O: "OUT" }), "must be the name of a model, got '..'"],
    [step("a", { I: "IN" }, { O: "OUT" }, "model_version: -2"), "got -2"],
    [
      A + step("b", { I: "IN" }, { O: "OUT" }),
      "ensemble tensor 'OUT' can appear in an output map only once for ensemble 'e' step 1",
    ],
    [
      A + step("b", { I: "OUT" }, { O: "IN" }),
      "is an input of ensemble 'e' and cannot be written by step 1",
    ],
    [A + step("b", { I: "void" }, { O: "t" }), "ensemble tensor 'void' is unused in ensemble 'e'"],
    [A + step("b", { I: "IN" }, { O: "t" }), "ensemble tensor 't' is unused in ensemble 'e'"],
    [step("a", { I: "IN" }, { O: "t" }), "ensemble output 'OUT' for ensemble 'e' is not used"],
    [step("a", { I: "t" }, { O: "OUT" }), "ensemble input 'IN' for ensemble 'e' is not used"],
    [
      step("a", { I: "IN", J: "t" }, { O: "OUT" }) + step("b", { I: "void" }, { O: "t" }),
      "output 'OUT' for ensemble 'e' is not written: at least one of its depending tensors, 'void', is not connected",
    ],
    [
      step("a", { I: "IN", J: "t" }, { O: "u" }) + step("b", { I: "u" }, { O: "t", P: "OUT" }),
      "output 'OUT' for ensemble 'e' is not written: at least one of its depending tensors,",
    ],
  ])("refuses %#: %s", (steps, expected) => {
    expect(refusal(["IN"], ["OUT"], steps)).toContain(expected);
  });

  test.each([
    ["instance_group { count: 2 } ", "instance group should not be specified for ensemble 'e'"],
    ["optimization {} ", "optimization should not be specified for ensemble 'e'"],
    ["model_warmup {} ", "model_warmup can not be specified for ensemble 'e'"],
  ])("refuses %s", (rest, expected) => {
    expect(refusal(["IN"], ["OUT"], A, rest)).toBe(expected);
  });
});
