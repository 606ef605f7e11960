import { expect, test } from "bun:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { ElementType, ValueKind } from "#ffi/onnxruntime/element-type.ts";
import type { GraphTensor } from "#ffi/onnxruntime/session.ts";
import { checkFit } from "../../../../src/backends/onnxruntime/check-fit.ts";
import type { Datatype } from "../../../../src/base/datatype.ts";
import { InferenceError } from "../../../../src/base/error.ts";
import type { ExecutionTensor } from "../../../../src/core/backend/backend-model.ts";
import { configMessage } from "../../../support/onnx-config.ts";

interface Change {
  readonly kind?: ValueKind;
  readonly elementType?: ElementType;
}

function graphTensor(name: string, shape: readonly number[], change: Change = {}): GraphTensor {
  const dimensions = shape.map((length) => ({ length, symbol: "" }));
  return { name, kind: "tensor", elementType: "float32", dimensions, ...change };
}

function tensor(name: string, shape: readonly number[], datatype: Datatype = "FP32") {
  return { name, datatype, shape };
}

interface Case {
  readonly inputs?: readonly GraphTensor[];
  readonly outputs?: readonly GraphTensor[];
  readonly initializers?: readonly GraphTensor[];
  readonly configured?: readonly ExecutionTensor[];
  readonly answered?: readonly ExecutionTensor[];
  readonly maxBatchSize?: number;
  readonly fields?: JsonObject;
}

/** The message of the refusal; "" where all is well. */
function fault(given: Case): string {
  const configured = given.configured ?? [tensor("X", [-1, 4])];
  const maxBatchSize = given.maxBatchSize ?? 8;
  const fields = { input: configured.map(({ name }) => ({ name })), ...given.fields };
  try {
    checkFit(
      {
        inputs: given.inputs ?? [graphTensor("X", [-1, 4])],
        outputs: given.outputs ?? [graphTensor("Y", [-1, 4])],
        overridableInitializers: given.initializers ?? [],
      },
      configMessage({ max_batch_size: maxBatchSize, ...fields }),
      { inputs: configured, outputs: given.answered ?? [tensor("Y", [-1, 4])], maxBatchSize },
    );
    return "";
  } catch (error) {
    if (error instanceof InferenceError && error.code === "INVALID_ARG") return error.message;
    throw error;
  }
}

const FULL =
  "(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete " +
  "shape ";

test("a configuration that says what the graph says fits", () => {
  expect(fault({})).toBe("");
});

test("inputs may narrow what the graph leaves free, and leave free what it fixes", () => {
  const inputs = [graphTensor("X", [-1, -1])];
  expect(fault({ inputs })).toBe("");
  expect(fault({ configured: [tensor("X", [-1, -1])] })).toBe("");
});

test("outputs must say exactly what the graph says", () => {
  expect(fault({ outputs: [graphTensor("Y", [-1, -1])] })).toBe(
    "model 'm', tensor 'Y': the model expects 2 dimensions (shape [-1,-1]) but the model configuration specifies 2 " +
      `dimensions ${FULL}[-1,4])`,
  );
});

test.each<[string, Case, string]>([
  [
    "another dimension",
    { configured: [tensor("X", [-1, 5])] },
    "model 'm', tensor 'X': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 2 " +
      `dimensions ${FULL}[-1,5])`,
  ],
  [
    "another rank",
    { configured: [tensor("X", [-1, 4, 1])] },
    "model 'm', tensor 'X': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 3 " +
      `dimensions ${FULL}[-1,4,1])`,
  ],
  [
    "a missing batch dimension without batching",
    { maxBatchSize: 0, configured: [tensor("X", [4])] },
    "model 'm', tensor 'X': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 1 " +
      "dimensions (shape [4])",
  ],
  [
    "batching of a graph with a fixed first dimension",
    { inputs: [graphTensor("X", [1, 4])] },
    "model 'm', tensor 'X': for the model to support batching the shape should have at least 1 dimension and the " +
      "first dimension must be -1; but shape expected by the model is [1,4]",
  ],
  [
    "batching of a scalar",
    { inputs: [graphTensor("X", [])] },
    "model 'm', tensor 'X': for the model to support batching the shape should have at least 1 dimension and the " +
      "first dimension must be -1; but shape expected by the model is []",
  ],
  [
    "another input type",
    { configured: [tensor("X", [-1, 4], "INT32")] },
    "unable to load model 'm', configuration expects datatype TYPE_INT32 for input 'X', model provides TYPE_FP32",
  ],
  [
    "another output type",
    { answered: [tensor("Y", [-1, 4], "BYTES")] },
    "unable to load model 'm', configuration expects datatype TYPE_STRING for output 'Y', model provides TYPE_FP32",
  ],
  [
    "a type that the protocol lacks",
    { inputs: [graphTensor("X", [-1, 4], { elementType: "complex64" })] },
    "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'X', model provides 'complex64'",
  ],
  [
    "an output that is a sequence",
    { outputs: [graphTensor("Y", [-1, 4], { kind: "sequence" })] },
    "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'Y', expected 'ONNX_TYPE_TENSOR'.",
  ],
  [
    "an unknown input",
    { configured: [tensor("Z", [-1, 4])] },
    "unexpected inference input 'Z', allowed inputs are: X",
  ],
  [
    "an unknown output",
    {
      answered: [tensor("Z", [-1, 4])],
      outputs: [graphTensor("Y1", [-1, 4]), graphTensor("Y0", [-1, 4])],
    },
    "unexpected inference output 'Z', allowed outputs are: Y0, Y1",
  ],
  [
    "one input too many",
    { configured: [tensor("X", [-1, 4]), tensor("Z", [-1, 4])] },
    "unable to load model 'm', configuration expects 2 inputs, model provides 1",
  ],
  [
    "one input too few",
    { inputs: [graphTensor("X", [-1, 4]), graphTensor("Z", [-1, 4])] },
    "unable to load model 'm', configuration expects 1 inputs, model provides 2",
  ],
  [
    "no input at all",
    { configured: [] },
    "unable to load model 'm', configuration expects 0 inputs, model provides 1",
  ],
  [
    "more inputs than there are with the initialisers",
    {
      initializers: [graphTensor("W", [-1, 4])],
      configured: ["X", "W", "Z"].map((name) => tensor(name, [-1, 4])),
    },
    "unable to load model 'm', configuration expects 3 inputs, model provides at most 2",
  ],
  [
    "an optional input with batching",
    { fields: { input: [{ name: "X", optional: true }] } },
    "optional input 'X' is not supported for models that support batching",
  ],
  [
    "a scalar declared with two elements",
    { maxBatchSize: 0, inputs: [graphTensor("X", [])], configured: [tensor("X", [2])] },
    "model 'm': scalar tensor 'X', should only provide 1 in the model configuration when the model doesn't support " +
      "batching, got [2]",
  ],
  [
    "a ragged input with a fixed shape",
    {
      inputs: [graphTensor("X", [3])],
      fields: { input: [{ name: "X", allow_ragged_batch: true }] },
    },
    "unable to load model 'm', configuration expects model provides input with shape [-1] for ragged input 'X', " +
      "model provides [3]",
  ],
])("%s is refused in Triton's words", (_title, given, message) => {
  expect(fault(given)).toBe(message);
});

test("a state that clients do not see may narrow what the graph leaves free", () => {
  const states = { state: [{ input_name: "S", output_name: "T" }] };
  const given = (output: readonly JsonObject[]): Case => ({
    inputs: [graphTensor("X", [-1, 4]), graphTensor("S", [-1, -1])],
    outputs: [graphTensor("T", [-1, -1])],
    configured: [tensor("X", [-1, 4]), tensor("S", [-1, 2])],
    answered: [tensor("T", [-1, 2])],
    fields: { input: [{ name: "X" }], output: [...output], sequence_batching: states },
  });
  expect(fault(given([]))).toBe("");
  expect(fault(given([{ name: "T" }]))).toContain("tensor 'T'");
});

test("outputs may be a selection, and a graph with free rank takes any shape", () => {
  const outputs = [graphTensor("Y", [-1, 4]), graphTensor("Z", [9], { kind: "sequence" })];
  expect(fault({ outputs })).toBe("");
  expect(fault({ inputs: [{ ...graphTensor("X", []), dimensions: undefined }] })).toBe("");
});

test("a dimension of 0, which a configuration cannot give, is left free there", () => {
  const outputs = [graphTensor("Y", [-1, 0])];
  expect(fault({ outputs, answered: [tensor("Y", [-1, -1])] })).toBe("");
  expect(fault({ outputs, answered: [tensor("Y", [-1, 2])] })).toContain("(shape [-1,0])");
});

test("a scalar is declared by one element, or by none", () => {
  const inputs = [graphTensor("X", [])];
  expect(fault({ maxBatchSize: 0, inputs, configured: [tensor("X", [1])], answered: [] })).toBe("");
  expect(fault({ maxBatchSize: 0, inputs, configured: [tensor("X", [])], answered: [] })).toBe("");
});

test("controls, states and batch inputs count as inputs, overridable initialisers may be left out", () => {
  const names = ["X", "START", "STATE"];
  const sequence = {
    sequence_batching: {
      control_input: [{ name: "START" }],
      state: [{ input_name: "STATE", output_name: "S" }],
    },
  };
  expect(fault({ inputs: names.map((name) => graphTensor(name, [-1, 4])), fields: sequence })).toBe(
    "",
  );
  const ragged = { batch_input: [{ target_name: ["COUNT"], source_input: ["X"] }] };
  const inputs = [graphTensor("X", [-1, 4]), graphTensor("COUNT", [-1])];
  expect(fault({ inputs, fields: ragged })).toBe("");
  expect(fault({ initializers: [graphTensor("W", [4])] })).toBe("");
});
