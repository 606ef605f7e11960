import { describe, expect, test } from "bun:test";
import { ConfigFaults } from "../../../../src/core/config/config-faults.ts";
import { checkSequenceBatching } from "../../../../src/core/config/validate-sequence-batching.ts";
import { CONFIG_HEAD, configMessage, refusalOf } from "../../../support/config-texts.ts";

function refusal(batching: string): string {
  const message = configMessage(`${CONFIG_HEAD} sequence_batching { ${batching} }`);
  const faults = new ConfigFaults();
  if (message.schedulingChoice.case === "sequenceBatching") {
    checkSequenceBatching(message, message.schedulingChoice.value, faults);
  }
  return refusalOf(() => faults.throwIfAny());
}

function control(name: string, kind: string, body: string): string {
  return `control_input { name: "${name}" control { kind: CONTROL_SEQUENCE_${kind} ${body} } } `;
}

const INT = "int32_false_true: [ 0, 1 ]";

function state(initial = "", rest = ""): string {
  const dims = "data_type: TYPE_FP32 dims: [ -1, 2 ]";
  return `state { input_name: "in" output_name: "out" ${dims} ${rest} ${initial} } `;
}

describe("checkSequenceBatching", () => {
  test.each([
    "",
    "direct { minimum_slot_utilization: 0.5 }",
    "oldest { max_candidate_sequences: 4 preferred_batch_size: [ 1, 8 ] }",
    control("A", "START", INT) +
      control("B", "READY", "fp32_false_true: [ 0, 1 ]") +
      control("C", "END", "bool_false_true: [ false, true ]") +
      control("D", "CORRID", "data_type: TYPE_STRING"),
    state(),
    state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 3, 2 ] zero_data: true }'),
  ])("accepts '%s'", (batching) => {
    expect(refusal(batching)).toBe("");
  });

  test.each([
    ["direct { minimum_slot_utilization: 1.5 }", "must be in range [0.0, 1.0] for m, got 1.5"],
    ["direct { minimum_slot_utilization: nan }", "must be in range [0.0, 1.0] for m, got NaN"],
    [
      "oldest { preferred_batch_size: 0 }",
      "sequence batching preferred batch size must be positive for m",
    ],
    [
      "oldest { preferred_batch_size: 9 }",
      "sequence batching preferred batch size must be <= max batch size for m",
    ],
    [control("", "START", INT), "sequence batching control tensor must have a name for m"],
    [
      control("A", "START", INT) + control("A", "END", INT),
      "sequence batching control tensor 'A' must be specified once, for one control kind, for m",
    ],
    ['control_input { name: "A" }', "must be specified once, for one control kind, for m"],
    [
      control("A", "START", INT) + control("B", "START", INT),
      "sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m",
    ],
    [
      control("A", "START", ""),
      "must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_START for m",
    ],
    [
      control("A", "END", `${INT} fp32_false_true: [ 0, 1 ]`),
      "specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for CONTROL_SEQUENCE_END for m",
    ],
    [
      control("A", "READY", "int32_false_true: [ 0, 1, 2 ]"),
      "control 'int32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_READY for m, got 3",
    ],
    [
      control("A", "CORRID", "data_type: TYPE_FP32"),
      "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64,",
    ],
    [
      control("A", "CORRID", `data_type: TYPE_UINT64 ${INT}`),
      "sequence batching must not specify either",
    ],
    ["state { dims: 1 }", "must specify 'input_name' and 'output_name' for m"],
    [state() + state(), "must have an input and an output of its own for m"],
    ['state { input_name: "a" output_name: "b" }', "must specify 'data_type' for m"],
    ['state { input_name: "a" output_name: "b" }', "must specify 'dims' for m"],
    ['state { input_name: "a" output_name: "b" dims: 0 }', "dimension must be integer >= 1, or -1"],
    [state("", "use_growable_memory: true"), "needs 'use_same_buffer_for_input_output' for m"],
    [state("", "use_growable_memory: true"), "needs instance groups of KIND_GPU for m"],
    [state("initial_state {} initial_state {}"), "may have one 'initial_state' for m, got 2"],
    [
      state("initial_state { data_type: TYPE_FP32 dims: [ 1, 2 ] zero_data: true }"),
      "must specify 'name'",
    ],
    [
      state('initial_state { name: "i" data_type: TYPE_INT32 dims: [ 1, 2 ] zero_data: true }'),
      "has data_type TYPE_INT32, expected TYPE_FP32 for m",
    ],
    [
      state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ -1, 2 ] zero_data: true }'),
      "has dims [-1,2], expected fixed dims that match [-1,2] for m",
    ],
    [
      state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 1, 3 ] zero_data: true }'),
      "has dims [1,3], expected fixed dims that match [-1,2] for m",
    ],
    [
      state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 1, 2 ] }'),
      "must specify 'zero_data' or 'data_file' for m",
    ],
  ])("refuses %#: %s", (batching, expected) => {
    expect(refusal(batching)).toContain(expected);
  });
});
