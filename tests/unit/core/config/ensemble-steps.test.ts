import { expect, test } from "bun:test";
import {
  ensembleSteps,
  isEnsemble,
  makeDecoupled,
  maxInflightRequestsOf,
} from "../../../../src/core/config/ensemble-steps.ts";
import { configMessage } from "../../../support/config-texts.ts";

const ENSEMBLE =
  'platform: "ensemble" ensemble_scheduling { max_inflight_requests: 3 ' +
  'step { model_name: "a" model_version: -1 input_map { key: "X" value: "IN" } output_map { key: "Y" value: "t" } } ' +
  'step { model_name: "b" model_version: 2 input_map { key: "X" value: "t" } output_map { key: "Y" value: "OUT" } } }';

test("the steps of an ensemble name their model, its version and their tensors", () => {
  expect(ensembleSteps(configMessage(ENSEMBLE))).toEqual([
    { modelName: "a", versionText: "", inputMap: { X: "IN" }, outputMap: { Y: "t" } },
    { modelName: "b", versionText: "2", inputMap: { X: "t" }, outputMap: { Y: "OUT" } },
  ]);
  expect(maxInflightRequestsOf(configMessage(ENSEMBLE))).toBe(3);
});

test("a step without a version asks for version 0, as in Triton", () => {
  const text = 'ensemble_scheduling { step { model_name: "a" } }';
  expect(ensembleSteps(configMessage(text)).map(({ versionText }) => versionText)).toEqual(["0"]);
});

test("other models have no steps and no limit", () => {
  const message = configMessage('backend: "onnxruntime" dynamic_batching { }');
  expect([isEnsemble(message), ensembleSteps(message), maxInflightRequestsOf(message)]).toEqual([
    false,
    [],
    0,
  ]);
  expect(isEnsemble(configMessage(ENSEMBLE))).toBe(true);
});

test("a message becomes decoupled whether or not it had a transaction policy", () => {
  for (const text of [ENSEMBLE, `${ENSEMBLE} model_transaction_policy { }`]) {
    const message = configMessage(text);
    makeDecoupled(message);
    expect(message.modelTransactionPolicy?.decoupled).toBe(true);
  }
});
