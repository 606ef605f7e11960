import { describe, expect, test } from "bun:test";
import { modelConfigFromMessage } from "../../../../src/core/config/model-config-from.ts";
import { configMessage, GOOD_CONFIG, refusalOfPromise } from "../../../support/config-texts.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

describe("modelConfigFromMessage", () => {
  test("shows what the rest of the server asks, frozen", async () => {
    const config = await modelConfigFromMessage(
      configMessage(`
        name: "m" backend: "identity" max_batch_size: 4
        input { name: "A" data_type: TYPE_STRING dims: [ -1, 2 ] optional: true allow_ragged_batch: true }
        input { name: "S" data_type: TYPE_INT32 dims: 1 reshape { shape: [] } is_shape_tensor: true }
        output { name: "B" data_type: TYPE_BF16 dims: 3 }
        parameters { key: "k" value { string_value: "v" } }
        metric_tags { key: "team" value: "vision" }
        model_transaction_policy { decoupled: true }`),
      "/nowhere",
    );
    expect(Object.isFrozen(config)).toBe(true);
    expect(config).toMatchObject({
      name: "m",
      platform: "identity",
      backend: "identity",
      maxBatchSize: 4,
      isDecoupled: true,
      parameters: { k: "v" },
      metricTags: { _team: "vision" },
    });
    const plain = { isOptional: false, allowsRaggedBatch: false, isShapeTensor: false };
    expect(config.inputs).toEqual([
      {
        ...plain,
        name: "A",
        datatype: "BYTES",
        dims: [-1, 2],
        isOptional: true,
        allowsRaggedBatch: true,
      },
      { ...plain, name: "S", datatype: "INT32", dims: [1], reshape: [], isShapeTensor: true },
    ]);
    expect(config.outputs).toEqual([{ ...plain, name: "B", datatype: "BF16", dims: [3] }]);
  });

  test("shows the platform where there is one", async () => {
    const message = configMessage(`${GOOD_CONFIG} platform: "onnxruntime_onnx"`);
    const config = await modelConfigFromMessage(message, "/nowhere");
    expect([config.platform, config.backend, config.isDecoupled]).toEqual([
      "onnxruntime_onnx",
      "onnxruntime",
      false,
    ]);
    const ensemble = await modelConfigFromMessage(
      configMessage('platform: "ensemble"'),
      "/nowhere",
    );
    expect([ensemble.platform, ensemble.backend]).toEqual(["ensemble", "ensemble"]);
  });

  test.each([
    ["a\nb\n", ["a", "b"]],
    ["a\r\nb", ["a", "b"]],
    ["a\n\nc\n", ["a", "", "c"]],
    ["", []],
  ])("reads labels one a line: %j", async (text, labels) => {
    using folder = new TemporaryFolder();
    folder.file("sub/labels.txt", text);
    const message = configMessage(
      'output { name: "B" data_type: TYPE_FP32 dims: 3 label_filename: "sub/labels.txt" }',
    );
    const config = await modelConfigFromMessage(message, folder.path);
    expect(config.outputs[0]?.labels).toEqual(labels);
  });

  test("names a label file that is not there", async () => {
    const message = configMessage(
      'output { name: "B" data_type: TYPE_FP32 dims: 3 label_filename: "no.txt" }',
    );
    expect(await refusalOfPromise(modelConfigFromMessage(message, "/nowhere"))).toBe(
      "failed to open text file for read /nowhere/no.txt: No such file or directory",
    );
  });
});
