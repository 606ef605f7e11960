import { describe, expect, test } from "bun:test";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { checkConfigJson } from "../../../../src/core/config/check-config-json.ts";

function faultsOf(value: unknown): readonly string[] {
  return checkConfigJson(value, ModelConfigSchema).faults;
}

describe("checkConfigJson", () => {
  test("takes snake_case and lowerCamelCase, enum names in any case, numbers as strings, null as nothing", () => {
    const { json, faults, givenFields } = checkConfigJson(
      {
        maxBatchSize: "8",
        platform: null,
        input: [{ name: "a", dataType: "type_fp32", dims: ["-1", 4] }],
        dynamic_batching: { defaultQueuePolicy: { timeout_action: 1 } },
      },
      ModelConfigSchema,
    );
    expect(faults).toEqual([]);
    expect([...givenFields]).toEqual(["max_batch_size", "input", "dynamic_batching"]);
    expect(json).toEqual({
      max_batch_size: "8",
      input: [{ name: "a", data_type: "TYPE_FP32", dims: ["-1", 4] }],
      dynamic_batching: { default_queue_policy: { timeout_action: "DELAY" } },
    });
  });

  test("tells every fault with its path", () => {
    expect(
      faultsOf({
        max_batch_siz: 4,
        name: 5,
        input: [{ dims: [1, "x"] }, 7],
        output: {},
        parameters: [{ key: "a", value: { string_value: "b" } }],
        metric_tags: { team: { string_value: "x" } },
        dynamic_batching: { priority_queue_policy: { x: {}, "2": { max_queue_size: -1 } } },
      }),
    ).toEqual([
      "max_batch_siz: unknown field 'max_batch_siz' in ModelConfig; did you mean 'max_batch_size'?",
      "name: expected a string in quotes, found 5",
      'input[0].dims[1]: expected an integer from -9223372036854775808 to 9223372036854775807, found "x"',
      "input[1]: expected an object { … }, found 7",
      "output: expected a list [ … ], found an object",
      'parameters: expected an object of the form { "<key>": <value> }, not a list of entries, found a list',
      'metric_tags["team"]: expected a string in quotes, found an object',
      'dynamic_batching.priority_queue_policy["2"].max_queue_size: expected an integer from 0 to 4294967295, found -1',
      'dynamic_batching.priority_queue_policy["x"]: expected an integer from 0 to 18446744073709551615 as key, found "x"',
    ]);
  });

  test("refuses unknown enum values, by name and by number", () => {
    const [byName, byNumber] = faultsOf({
      input: [{ data_type: "TYPE_FP33" }, { data_type: 99 }],
    });
    expect(byName).toStartWith(
      `input[0].data_type: found "TYPE_FP33" (did you mean 'TYPE_FP32'?), expected`,
    );
    expect(byNumber).toStartWith("input[1].data_type: found 99, expected one of TYPE_INVALID,");
  });

  test("refuses a field given in both spellings, and two members of a oneof", () => {
    expect(faultsOf({ max_batch_size: 1, maxBatchSize: 1 })).toEqual([
      "maxBatchSize: 'max_batch_size' is given twice",
    ]);
    expect(faultsOf({ dynamic_batching: {}, sequence_batching: {} })).toEqual([
      "sequence_batching: found 'dynamic_batching' and 'sequence_batching'; at most one of " +
        "dynamic_batching, sequence_batching, ensemble_scheduling may be given",
    ]);
  });

  test.each([[[]], ["text"], [3], [null]])("refuses the document %j", (value) => {
    expect(faultsOf(value)[0]).toStartWith("expected an object { … }, found ");
  });

  test("does not repeat long values", () => {
    expect(faultsOf({ max_batch_size: "x".repeat(5000) })[0]).toEndWith(
      "found a string of 5000 characters",
    );
  });
});
