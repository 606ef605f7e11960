import { describe, expect, test } from "bun:test";
import {
  emptyConfig,
  parseConfigJson,
  parseConfigText,
  parseConfigYaml,
} from "../../../../src/core/config/parse-config.ts";
import {
  CONFIG_HEAD,
  CONFIG_TENSORS,
  configMessage,
  GOOD_CONFIG,
  refusalOf,
} from "../../../support/config-texts.ts";

const HEAD = CONFIG_HEAD;

describe("parseConfigText", () => {
  test.each([
    ["comments anywhere", `# first\n${GOOD_CONFIG.replace("\nbackend", " # name\nbackend")}# last`],
    [
      "commas and semicolons between fields",
      `${HEAD.replaceAll("\n", ";\n")}input { name: "INPUT0", data_type: TYPE_FP32, dims: [ 4 ] };` +
        'output { name: "OUTPUT0"; data_type: TYPE_FP32; dims: [ 4 ]; }',
    ],
    [
      "angle brackets",
      `${HEAD}input < name: "INPUT0" data_type: TYPE_FP32 dims: 4 > output < name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 >`,
    ],
    [
      "a colon before a block",
      GOOD_CONFIG.replace("input [", "input: [").replace("output [", "output: ["),
    ],
    [
      "repeated blocks in place of a list",
      `${HEAD}input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 }`,
    ],
    [
      "no space at all",
      'name:"m"backend:"onnxruntime"max_batch_size:8input{name:"INPUT0"data_type:TYPE_FP32 dims:4}' +
        'output{name:"OUTPUT0"data_type:TYPE_FP32 dims:4}',
    ],
    ["Windows line ends", GOOD_CONFIG.replaceAll("\n", "\r\n")],
    ["single quotes", GOOD_CONFIG.replaceAll('"', "'")],
    ["adjacent strings", GOOD_CONFIG.replace('"onnxruntime"', '"onnx" \'run\'\n  "time"')],
    ["escapes", GOOD_CONFIG.replace("onnxruntime", "onnx\\x72unti\\155e")],
    ["enum values by number", GOOD_CONFIG.replaceAll("TYPE_FP32", "11")],
    [
      "octal and hexadecimal integers",
      GOOD_CONFIG.replace(": 8", ": 0x8").replaceAll("4 ]", "04 ]"),
    ],
  ])("reads %s", (_name, text) => {
    expect(configMessage(text)).toEqual(configMessage(GOOD_CONFIG));
  });

  test("decodes string escapes and keeps UTF-8", () => {
    const { parameters } = configMessage(
      `parameters { key: "ключ" value { string_value: "t\\tn\\nq\\"o\\101u\\303\\251 \\'\\\\ 😀" } }`,
    );
    expect(parameters["ключ"]?.stringValue).toBe("t\tn\nq\"oAu\u00e9 '\\ 😀");
  });

  test("reads maps as blocks and as lists; the last entry of a key wins", () => {
    const { metricTags } = configMessage(
      'metric_tags { key: "a" value: "1" } metric_tags [ { key: "b" value: "2" }, { key: "a", value: "3" } ]',
    );
    expect(metricTags).toEqual({ a: "3", b: "2" });
  });

  test.each([
    ["true", true],
    ["True", true],
    ["t", true],
    ["1", true],
    ["false", false],
    ["False", false],
    ["f", false],
    ["0", false],
  ])("reads the bool %s", (written, expected) => {
    const { schedulingChoice } = configMessage(
      `dynamic_batching { preserve_ordering: ${written} }`,
    );
    expect(schedulingChoice).toMatchObject({ value: { preserveOrdering: expected } });
  });

  test.each([
    ["0.5", 0.5],
    [".5f", 0.5],
    ["1e-1F", Math.fround(0.1)],
    ["- 2", -2],
    ["-inf", Number.NEGATIVE_INFINITY],
    ["- Infinity", Number.NEGATIVE_INFINITY],
    ["nan", Number.NaN],
    ["1.", 1],
  ])("reads the float %s", (written, expected) => {
    const { schedulingChoice } = configMessage(
      `sequence_batching { direct { minimum_slot_utilization: ${written} } }`,
    );
    expect(schedulingChoice).toMatchObject({
      value: { strategyChoice: { value: { minimumSlotUtilization: expected } } },
    });
  });

  test("keeps 64-bit numbers exact", () => {
    const { schedulingChoice } = configMessage(
      "dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }",
    );
    expect(schedulingChoice).toMatchObject({
      value: { maxQueueDelayMicroseconds: 18_446_744_073_709_551_615n },
    });
  });

  test("tells file, line, column and field of a fault", () => {
    const text = GOOD_CONFIG.replace("TYPE_FP32", "TYPE_FP33");
    expect(refusalOf(() => parseConfigText(text, "/models/m/config.pbtxt"))).toStartWith(
      "failed to read text proto from /models/m/config.pbtxt:4:37: input[0].data_type: found TYPE_FP33",
    );
  });

  test("reads an empty file as a configuration without anything", () => {
    expect(parseConfigText("", "f")).toEqual(emptyConfig("f"));
  });

  test("knows a written zero from nothing", () => {
    expect(parseConfigText("max_batch_size: 0", "f").givenFields).toEqual(
      new Set(["max_batch_size"]),
    );
  });
});

describe("parseConfigJson", () => {
  test("reads the same schema", () => {
    const text = JSON.stringify({
      name: "m",
      backend: "onnxruntime",
      maxBatchSize: 8,
      input: [{ name: "INPUT0", data_type: "type_fp32", dims: ["4"] }],
      output: [{ name: "OUTPUT0", data_type: 11, dims: [4] }],
    });
    expect(parseConfigJson(text, "config.json").message).toEqual(
      configMessage(HEAD + CONFIG_TENSORS),
    );
  });

  test("keeps 64-bit numbers exact", () => {
    const text = '{"dynamic_batching": {"max_queue_delay_microseconds": 18446744073709551615}}';
    expect(parseConfigJson(text, "f").message.schedulingChoice).toMatchObject({
      value: { maxQueueDelayMicroseconds: 18_446_744_073_709_551_615n },
    });
  });

  test("tells all faults with their paths, or the place of a syntax error", () => {
    const refusal = (text: string) => refusalOf(() => parseConfigJson(text, "config.json"));
    expect(refusal('{"name": 1, "backend": 2}')).toBe(
      "failed to read JSON from config.json: name: expected a string in quotes, found 1; " +
        "backend: expected a string in quotes, found 2",
    );
    expect(refusal('{"name": "m",\n "backend" "x"}')).toStartWith(
      "failed to read JSON from config.json:2:12: ",
    );
  });

  test("survives a million brackets", () => {
    const deep = "[".repeat(1_000_000);
    expect(refusalOf(() => parseConfigJson(deep, "f"))).toStartWith(
      "failed to read JSON from f:1:",
    );
    expect(refusalOf(() => parseConfigJson(`{"x":${deep}`, "f"))).not.toBe("");
  });
});

describe("parseConfigYaml", () => {
  test("reads the same schema", () => {
    const text = `
# A comment
name: m
backend: onnxruntime
max_batch_size: 8
input:
  - { name: INPUT0, data_type: TYPE_FP32, dims: [4] }
output:
  - name: OUTPUT0
    data_type: TYPE_FP32
    dims: [4]
`;
    expect(parseConfigYaml(text, "config.yaml").message).toEqual(configMessage(GOOD_CONFIG));
  });

  test("reads a file without content as an empty configuration", () => {
    expect(parseConfigYaml("# nothing\n", "f")).toEqual(emptyConfig("f"));
  });

  test("tells the field of a fault, or how far the file can be read", () => {
    const refusal = (text: string) => refusalOf(() => parseConfigYaml(text, "config.yaml"));
    expect(refusal("name: 5")).toBe(
      "failed to read YAML from config.yaml: name: expected a string in quotes, found 5",
    );
    expect(refusal("name: m\ninput:\n  - name: [x\n")).toStartWith(
      "failed to read YAML from config.yaml: readable up to line 2: ",
    );
    expect(refusal("a: &x [*x]")).toContain("unknown field 'a'");
  });
});
