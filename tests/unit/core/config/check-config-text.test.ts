import { describe, expect, test } from "bun:test";
import { fromText } from "@bufbuild/protobuf/txtpb";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { checkConfigText } from "../../../../src/core/config/check-config-text.ts";
import { tokenizeConfigText } from "../../../../src/core/config/config-text-tokens.ts";
import { CONFIG_HEAD, CONFIG_TENSORS, GOOD_CONFIG } from "../../../support/config-texts.ts";

function check(text: string) {
  return checkConfigText(tokenizeConfigText(text), ModelConfigSchema);
}

/** `line:column path message` of the first fault. */
function faultOf(text: string): string | undefined {
  const { fault } = check(text);
  return fault && `${fault.line}:${fault.column} ${fault.path} ${fault.message}`;
}

describe("checkConfigText", () => {
  test("finds nothing in a good configuration", () => {
    expect(faultOf(GOOD_CONFIG)).toBeUndefined();
    expect(faultOf("")).toBeUndefined();
  });

  test("lists the outermost fields that were written", () => {
    const { givenFields } = check(
      "max_batch_size: 0 input { name: 'x' } input { name: 'y' } dynamic_batching {}",
    );
    expect([...givenFields]).toEqual(["max_batch_size", "input", "dynamic_batching"]);
  });

  test.each([
    [
      "an unknown field",
      `${CONFIG_HEAD}max_batchsize: 3\n`,
      "4:1  unknown field 'max_batchsize' in ModelConfig; did you mean 'max_batch_size'?",
    ],
    [
      "a field of another message",
      "input { dynamic_batching {} }",
      "1:9 input[0] unknown field 'dynamic_batching' in ModelInput; allowed are name, data_type, format, dims, reshape, is_shape_tensor, allow_ragged_batch, optional, is_non_linear_format_io",
    ],
    [
      "a scalar given twice",
      `${CONFIG_HEAD}max_batch_size: 4`,
      "4:1  'max_batch_size' is given twice; the first stands at 3:1",
    ],
    [
      "a block given twice",
      "optimization {}\noptimization {}",
      "2:1  'optimization' is given twice; the first stands at 1:1",
    ],
    [
      "two schedulers",
      "dynamic_batching {}\nsequence_batching {}",
      "2:1  'sequence_batching' cannot stand beside 'dynamic_batching'; at most one of dynamic_batching, sequence_batching, ensemble_scheduling may be given",
    ],
    [
      "a placeholder",
      GOOD_CONFIG.replace("8", "$" + "{n}"),
      "3:17 max_batch_size unexpected '$'; a placeholder was left in place (expected an integer from -2147483648 to 2147483647)",
    ],
    [
      "a string for an integer",
      GOOD_CONFIG.replace("8", '"8"'),
      '3:17 max_batch_size found "8", expected an integer from -2147483648 to 2147483647',
    ],
    [
      "a fraction for an integer",
      GOOD_CONFIG.replace("8", "8.0"),
      "3:17 max_batch_size found 8.0, expected an integer from -2147483648 to 2147483647",
    ],
    [
      "an exponent for an integer",
      GOOD_CONFIG.replace("8", "1e3"),
      "3:17 max_batch_size found 1e3, expected an integer from -2147483648 to 2147483647",
    ],
    [
      "an integer out of range",
      GOOD_CONFIG.replace("8", "-3000000000"),
      "3:17 max_batch_size found -3000000000, expected an integer from -2147483648 to 2147483647",
    ],
    [
      "a sign where none may stand",
      "model_warmup { batch_size: -1 }",
      "1:28 model_warmup[0].batch_size found -1, expected an integer from 0 to 4294967295",
    ],
    [
      "a malformed octal number",
      GOOD_CONFIG.replace("8", "09"),
      "3:17 max_batch_size found 09, expected an integer from -2147483648 to 2147483647",
    ],
    [
      "a bool of another language",
      "dynamic_batching { preserve_ordering: yes }",
      "1:39 dynamic_batching.preserve_ordering found yes, expected true or false",
    ],
    [
      "a list of numbers without colon",
      "input { dims [ 1 ] }",
      "1:14 input[0].dims found '[', expected ':'",
    ],
    [
      "a list for a single field",
      "name: [ 'a' ]",
      "1:7 name found '[', expected a string in quotes",
    ],
    [
      "a comma after the last element",
      "input { dims: [ 1, ] }",
      "1:20 input[0].dims[1] found ']', expected an integer from -9223372036854775808 to 9223372036854775807",
    ],
    [
      "no comma between elements",
      "input { dims: [ 1 2 ] }",
      "1:19 input[0].dims found '2', expected ',' or ']'",
    ],
    ["two separators", "name: 'a',, backend: 'b'", "1:11  found ',', expected a field name"],
    ["a word for a string", "name: m", "1:7 name found m, expected a string in quotes"],
    [
      "an unknown escape",
      "name: '\\q'",
      "1:7 name found '\\q' (invalid escape \\q), expected a string in quotes",
    ],
    [
      "bytes that are no UTF-8",
      "name: '\\377'",
      "1:7 name found '\\377' (invalid UTF-8 in string), expected a string in quotes",
    ],
    ["a brace too many", `${GOOD_CONFIG}}`, "6:1  found '}', expected a field name"],
    [
      "the wrong closing bracket",
      "input { >",
      "1:9 input[0] found '>', expected a field name or the '}' of the block opened at 1:7",
    ],
    [
      "a block that is not closed",
      "dynamic_batching {",
      "1:19 dynamic_batching the file ends where a field name or the '}' of the block opened at 1:18 is expected",
    ],
    [
      "a value that is missing",
      "name:",
      "1:6 name the file ends where a string in quotes is expected",
    ],
    [
      "a map value without its block",
      "parameters { key: 'a' value: '1' }",
      "1:30 parameters[0].value found '1', expected a block { … } of ModelParameter",
    ],
    [
      "a map entry with another field",
      "metric_tags { name: 'a' }",
      "1:15 metric_tags[0] unknown field 'name' in a map entry; allowed are key, value",
    ],
    [
      "a map key twice in one entry",
      "metric_tags { key: 'a' key: 'b' }",
      "1:24 metric_tags[0] 'key' is given twice; the first stands at 1:15",
    ],
    [
      "a map key of another type",
      "dynamic_batching { priority_queue_policy { key: 'a' } }",
      "1:49 dynamic_batching.priority_queue_policy[0].key found 'a', expected an integer from 0 to 18446744073709551615",
    ],
    ["a field by its number", "1: 'm'", "1:1  found '1', expected a field name"],
    ["an extension", "[a.b]: 1", "1:1  found '[', expected a field name"],
  ])("tells place and field of %s", (_name, text, expected) => {
    expect(faultOf(text)).toBe(expected);
  });

  test.each(["TYPE_FP33", "type_fp32", "99", "-1"])(
    "lists what may stand for the enum value %s",
    (value) => {
      const fault = faultOf(`input { data_type: ${value} }`) ?? "";
      expect(fault).toStartWith(`1:20 input[0].data_type found ${value}`);
      expect(fault).toContain("expected one of TYPE_INVALID, TYPE_BOOL,");
    },
  );

  test.each(["013", "0xb", "11", "TYPE_FP32"])("takes the enum value %s", (value) => {
    expect(faultOf(`input { data_type: ${value} }`)).toBeUndefined();
  });

  test("counts the elements of repeated blocks and lists together", () => {
    const text = "input { name: 'a' } input [ { name: 'b' }, { nme: 'c' } ]";
    expect(faultOf(text)).toContain("input[2] unknown field 'nme'");
  });

  test("agrees with the protobuf library on thousands of damaged configurations", () => {
    const seed = 20_260_101;
    const random = randomFrom(seed);
    const pieces = [
      ...[
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ":",
        ",",
        ";",
        "-",
        "1",
        "'a'",
        "x",
        "TYPE_FP32",
        "1.5",
        "true",
      ],
      ...[
        "name",
        "dims",
        "input",
        "key",
        "value",
        "parameters",
        "dynamic_batching {}",
        "inf",
        "0x",
      ],
    ];
    let refusedCount = 0;
    for (let round = 0; round < 1500; round++) {
      const tokens = tokenizeConfigText(RICH_CONFIG).tokens.map(({ text }) => text);
      const at = Math.floor(random() * tokens.length);
      const piece = pieces[Math.floor(random() * pieces.length)] ?? "";
      const [removed, inserted] = [
        [0, [piece]],
        [1, [piece]],
        [1, []],
      ][round % 3] as [number, string[]];
      tokens.splice(at, removed, ...inserted);
      const text = tokens.join(" ").replaceAll("- ", "-");
      const isRefused = faultOf(text) !== undefined;
      if (isRefused) refusedCount++;
      expect({ seed, text, isRefused }).toEqual({ seed, text, isRefused: libraryRefuses(text) });
    }
    expect(refusedCount).toBeGreaterThan(400);
    expect(refusedCount).toBeLessThan(1500);
  });
});

const RICH_CONFIG = `${CONFIG_HEAD}${CONFIG_TENSORS}
  instance_group [ { kind: KIND_CPU, count: 1 }, { gpus: [ 0, 1 ] } ]
  sequence_batching {
    direct { minimum_slot_utilization: 0.5 }
    control_input [ { name: "S" control [ { kind: CONTROL_SEQUENCE_START bool_false_true: [ 0, 1 ] } ] } ]
  }
  parameters { key: "a" value { string_value: "1" "2" } }
  metric_tags [ { key: "t" value: "v" } ]
  model_warmup { name: "w" inputs { key: "I" value: < dims: - 1 zero_data: t > } }
`;

function libraryRefuses(text: string): boolean {
  try {
    fromText(ModelConfigSchema, text);
    return false;
  } catch {
    return true;
  }
}

/** A linear congruential generator, so that a failure can be had again. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
