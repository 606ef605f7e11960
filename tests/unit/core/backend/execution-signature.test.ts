import { expect, test } from "bun:test";
import { executionSignatureFrom } from "../../../../src/core/backend/execution-signature.ts";
import { modelConfigFromMessage } from "../../../../src/core/config/model-config-from.ts";
import { configMessage } from "../../../support/config-texts.ts";

function signature(maxBatchSize: number) {
  const message = configMessage(`
    name: "m" backend: "b" max_batch_size: ${maxBatchSize}
    input { name: "A" data_type: TYPE_FP32 dims: [ 2, -1 ] }
    input { name: "S" data_type: TYPE_INT32 dims: 3 is_shape_tensor: true }
    output { name: "B" data_type: TYPE_STRING dims: 1 reshape { shape: [] } }`);
  return modelConfigFromMessage(message, "/nowhere").then(executionSignatureFrom);
}

test("an execution signature has the batch dimension in front, except for shape tensors", async () => {
  expect(await signature(8)).toEqual({
    inputs: [
      { name: "A", datatype: "FP32", shape: [-1, 2, -1] },
      { name: "S", datatype: "INT32", shape: [3] },
    ],
    outputs: [{ name: "B", datatype: "BYTES", shape: [-1] }],
    maxBatchSize: 8,
  });
});

test("an execution signature without batching has the shapes of the configuration, reshaped", async () => {
  const { inputs, outputs } = await signature(0);
  expect(inputs.map(({ shape }) => shape)).toEqual([[2, -1], [3]]);
  expect(outputs.map(({ shape }) => shape)).toEqual([[]]);
});

test("controls, then states come behind what clients know; a listed state keeps its place", async () => {
  const message = configMessage(`
    name: "m" backend: "b" max_batch_size: 4
    input { name: "A" data_type: TYPE_FP32 dims: 2 }
    output { name: "V_OUT" data_type: TYPE_FP32 dims: 3 }
    output { name: "B" data_type: TYPE_FP32 dims: 1 }
    sequence_batching {
      control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } }
      state { input_name: "V_IN" output_name: "V_OUT" data_type: TYPE_FP32 dims: 3 }
      state { input_name: "H_IN" output_name: "H_OUT" data_type: TYPE_INT32 dims: [ -1, 2 ] }
    }`);
  const { inputs, outputs } = executionSignatureFrom(
    await modelConfigFromMessage(message, "/nowhere"),
  );
  expect(inputs.map(({ name, datatype, shape }) => [name, datatype, shape])).toEqual([
    ["A", "FP32", [-1, 2]],
    ["ID", "BYTES", [-1, 1]],
    ["V_IN", "FP32", [-1, 3]],
    ["H_IN", "INT32", [-1, -1, 2]],
  ]);
  expect(outputs.map(({ name }) => name)).toEqual(["V_OUT", "B", "H_OUT"]);
});
