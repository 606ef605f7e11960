import { describe, expect, test } from "bun:test";
import { completeConfig } from "../../../../src/core/config/complete-config.ts";
import { configToJson } from "../../../../src/core/config/config-json.ts";
import { normalizeInstanceGroups } from "../../../../src/core/config/instance-groups.ts";
import { fillDefaults } from "../../../../src/core/config/normalize-config.ts";
import { parseConfigJson } from "../../../../src/core/config/parse-config.ts";
import { configMessage } from "../../../support/config-texts.ts";

const FULL = `
  name: "full" platform: "onnxruntime_onnx" backend: "onnxruntime" max_batch_size: 16
  version_policy { specific { versions: [ 1, 9007199254740993 ] } }
  input { name: "I" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 4 } }
  output { name: "O" data_type: TYPE_FP32 dims: 4 label_filename: "labels.txt" }
  dynamic_batching {
    preferred_batch_size: [ 4, 8 ]
    max_queue_delay_microseconds: 1234567890123
    priority_levels: 2 default_priority_level: 1
    default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 7 allow_timeout_override: true max_queue_size: 9 }
    priority_queue_policy { key: 2 value { max_queue_size: 3 } }
  }
  optimization {
    graph { level: 1 }
    cuda { graph_spec { batch_size: 1 input { key: "I" value { dim: 4 } } } }
  }
  parameters { key: "quote" value { string_value: "\\"ü\\n" } }
  metric_tags { key: "team" value: "vision" }
  model_warmup { name: "w" batch_size: 1 inputs { key: "I" value { data_type: TYPE_FP32 dims: [ 2, 2 ] zero_data: true } } }
  response_cache { enable: true }`;

describe("configToJson", () => {
  test("prints a small configuration exactly like Triton", () => {
    const message = configMessage(`
      name: "m" platform: "onnxruntime_onnx" backend: "onnxruntime" max_batch_size: 4
      input { name: "INPUT0" data_type: TYPE_FP32 dims: 16 }
      output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 16 label_filename: "labels.txt" }
      dynamic_batching {} default_model_filename: "model.onnx"
      parameters { key: "k" value { string_value: "v" } }`);
    normalizeInstanceGroups(message, { gpuCount: 0 });
    fillDefaults(message);
    expect(configToJson(message)).toBe(
      '{"name":"m","platform":"onnxruntime_onnx","backend":"onnxruntime","runtime":"","version_policy":' +
        '{"latest":{"num_versions":1}},"max_batch_size":4,"input":[{"name":"INPUT0","data_type":"TYPE_FP32",' +
        '"format":"FORMAT_NONE","dims":[16],"is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,' +
        '"is_non_linear_format_io":false}],"output":[{"name":"OUTPUT0","data_type":"TYPE_FP32","dims":[16],' +
        '"label_filename":"labels.txt","is_shape_tensor":false,"is_non_linear_format_io":false}],"batch_input":[],' +
        '"batch_output":[],"optimization":{"priority":"PRIORITY_DEFAULT","input_pinned_memory":{"enable":true},' +
        '"output_pinned_memory":{"enable":true},"gather_kernel_buffer_threshold":0,"eager_batching":false},' +
        '"dynamic_batching":{"preferred_batch_size":[4],"max_queue_delay_microseconds":0,"preserve_ordering":false,' +
        '"priority_levels":0,"default_priority_level":0,"priority_queue_policy":{}},"instance_group":[{"name":"m",' +
        '"kind":"KIND_CPU","count":2,"gpus":[],"secondary_devices":[],"profile":[],"passive":false,' +
        '"host_policy":""}],"default_model_filename":"model.onnx","cc_model_filenames":{},"metric_tags":{},' +
        '"parameters":{"k":{"string_value":"v"}},"model_warmup":[]}',
    );
  });

  test("reads back as the same message", () => {
    const message = configMessage(FULL);
    expect(parseConfigJson(configToJson(message), "f").message).toEqual(message);
  });

  test("prints 64-bit numbers with all digits where Triton does, and as strings elsewhere", () => {
    const json = configToJson(configMessage(FULL));
    expect(json).toContain('"versions":[1,9007199254740993]');
    expect(json).toContain('"max_queue_delay_microseconds":1234567890123,');
    expect(json).toContain('"default_timeout_microseconds":7,');
    expect(json).toContain('"dims":[2,2],"reshape":{"shape":[4]}');
    expect(json).toContain(
      '"inputs":{"I":{"data_type":"TYPE_FP32","dims":[2,2],"zero_data":true}}',
    );
    expect(json).toContain('"graph_spec":[{"batch_size":1,"input":{"I":{"dim":["4"]}}}]');
  });

  test("prints keys of number maps as strings, texts escaped, unset policies in full", () => {
    const json = configToJson(configMessage(FULL));
    expect(json).toContain(
      '"priority_queue_policy":{"2":{"timeout_action":"REJECT","default_timeout_microseconds":0,' +
        '"allow_timeout_override":false,"max_queue_size":3}}',
    );
    expect(json).toContain('"parameters":{"quote":{"string_value":"\\"ü\\n"}}');
  });

  test("prints only the members of oneofs that are set", () => {
    const json = configToJson(
      configMessage(
        "sequence_batching { oldest { max_candidate_sequences: 3 max_queue_delay_microseconds: 10 } }",
      ),
    );
    expect(json).toContain(
      '"sequence_batching":{"oldest":{"max_candidate_sequences":3,"preferred_batch_size":[],' +
        '"max_queue_delay_microseconds":10,"preserve_ordering":false},"max_sequence_idle_microseconds":0,' +
        '"control_input":[],"state":[],"iterative_sequence":false}',
    );
    expect(json).not.toContain("direct");
    expect(json).not.toContain("dynamic_batching");
  });

  test.each([
    ["0.1", "0.1"],
    ["0", "0"],
    ["16777216", "16777216"],
    ["0.333333333", "0.33333334"],
    ["nan", '"NaN"'],
    ["-inf", '"-Infinity"'],
  ])("prints the float %s as %s", (written, printed) => {
    const message = configMessage(
      `sequence_batching { direct { minimum_slot_utilization: ${written} } }`,
    );
    expect(configToJson(message)).toContain(`"minimum_slot_utilization":${printed}}`);
  });

  test("prints what completion filled in", () => {
    const message = configMessage('name: "m"');
    const tensor = {
      name: "A",
      datatype: "BYTES",
      nativeType: "",
      shape: [-1],
      isOptional: false,
    } as const;
    const options = { givenFields: new Set<string>(), defaultMaxBatchSize: 4 };
    completeConfig(message, { inputs: [tensor], outputs: [] }, options);
    expect(configToJson(message)).toContain(
      '"input":[{"name":"A","data_type":"TYPE_STRING","format":"FORMAT_NONE","dims":[1],"reshape":{"shape":[]},',
    );
  });
});
