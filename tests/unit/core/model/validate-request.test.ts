import { describe, expect, test } from "bun:test";
import type { Datatype } from "../../../../src/base/datatype.ts";
import { InferenceError } from "../../../../src/base/error.ts";
import { RequestValidator } from "../../../../src/core/model/validate-request.ts";
import {
  type InputDescription,
  RequestSignature,
  type RequestSignatureFields,
} from "../../../../src/core/request/request-signature.ts";
import {
  type SampleConfigFields,
  sampleConfig,
  sampleSignature,
} from "../../../support/sample-config.ts";

const MODEL = {};

function validatorOf(fields: SampleConfigFields): RequestValidator {
  const config = sampleConfig(fields);
  return new RequestValidator(MODEL, config, sampleSignature(config));
}

function input(name: string, shape: number[], datatype: Datatype = "INT32"): InputDescription {
  return { name, datatype, shape };
}

function refusal(validator: RequestValidator, fields: RequestSignatureFields, id = ""): string {
  try {
    validator.validate(new RequestSignature(fields), id);
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    expect(error.code).toBe("INVALID_ARG");
    return error.message;
  }
  throw new Error("was not refused");
}

const ADD_SUB: SampleConfigFields = {
  name: "add_sub",
  maxBatchSize: 8,
  inputs: [
    { name: "INPUT0", datatype: "INT32", dims: [16] },
    { name: "INPUT1", datatype: "INT32", dims: [16] },
  ],
  outputs: [
    { name: "OUTPUT0", datatype: "INT32", dims: [16] },
    { name: "OUTPUT1", datatype: "INT32", dims: [16] },
  ],
};
const GOOD0 = input("INPUT0", [1, 16]);
const GOOD1 = input("INPUT1", [1, 16]);
const UNKNOWN_ID = "[request id: <id_unknown>] ";

describe("a request that fits", () => {
  test("is described for the batcher whatever the order of its inputs", () => {
    const inputs = [input("INPUT1", [3, 16]), input("INPUT0", [3, 16])];
    const validated = validatorOf(ADD_SUB).validate(new RequestSignature({ inputs }), "");
    expect(validated.model).toBe(MODEL);
    expect({ ...validated, model: undefined }).toEqual({
      model: undefined,
      batchSize: 3,
      inputOrder: [1, 0],
      backendShapes: [
        [3, 16],
        [3, 16],
      ],
      expectedBytes: [192, 192],
      elementCounts: [48, 48],
      mergeKey: "",
      outputIndexes: undefined,
    });
  });

  test("names the outputs it wants, once each, in the model's order", () => {
    const outputs = ["OUTPUT1", "OUTPUT0", "OUTPUT1"].map((name) => ({
      name,
      classificationCount: 0,
    }));
    const signature = new RequestSignature({ inputs: [GOOD0, GOOD1], outputs });
    expect(validatorOf(ADD_SUB).validate(signature, "").outputIndexes).toEqual([0, 1]);
    const one = new RequestSignature({ inputs: [GOOD0, GOOD1], outputs: outputs.slice(0, 1) });
    expect(validatorOf(ADD_SUB).validate(one, "").outputIndexes).toEqual([1]);
  });

  test("may have tensors without elements beside a batch of its size", () => {
    const validator = validatorOf({
      maxBatchSize: 8,
      inputs: [{ name: "X", datatype: "FP32", dims: [-1] }],
    });
    const validated = validator.validate(
      new RequestSignature({ inputs: [input("X", [2, 0], "FP32")] }),
      "",
    );
    expect([validated.batchSize, validated.expectedBytes]).toEqual([2, [0]]);
  });

  test("has a batch size of 1 where the model does not batch", () => {
    const validator = validatorOf({ inputs: [{ name: "X", datatype: "FP32", dims: [-1] }] });
    const at = (shape: number[]) =>
      validator.validate(new RequestSignature({ inputs: [input("X", shape, "FP32")] }), "");
    expect([at([0]).batchSize, at([0]).expectedBytes]).toEqual([1, [0]]);
    expect([at([7]).batchSize, at([7]).mergeKey]).toEqual([1, ""]);
  });

  test("has its BYTES counted in elements, not bytes", () => {
    const validator = validatorOf({
      maxBatchSize: 4,
      inputs: [{ name: "X", datatype: "BYTES", dims: [2] }],
    });
    const validated = validator.validate(
      new RequestSignature({ inputs: [input("X", [3, 2], "BYTES")] }),
      "",
    );
    expect([validated.expectedBytes, validated.elementCounts]).toEqual([[-1], [6]]);
  });
});

describe("reshape", () => {
  test("an empty one takes the client's trailing 1 away and keeps the batch", () => {
    const validator = validatorOf({
      maxBatchSize: 32,
      inputs: [{ name: "X", datatype: "BYTES", dims: [1], reshape: [] }],
    });
    const validated = validator.validate(
      new RequestSignature({ inputs: [input("X", [3, 1], "BYTES")] }),
      "",
    );
    expect(validated.backendShapes).toEqual([[3]]);
    expect(validated.elementCounts).toEqual([3]);
  });

  test("an empty one without batching makes a scalar", () => {
    const validator = validatorOf({
      inputs: [{ name: "X", datatype: "FP32", dims: [1], reshape: [] }],
    });
    const validated = validator.validate(
      new RequestSignature({ inputs: [input("X", [1], "FP32")] }),
      "",
    );
    expect(validated.backendShapes).toEqual([[]]);
  });

  test("sizes of free dimensions carry over in order", () => {
    const validator = validatorOf({
      maxBatchSize: 2,
      inputs: [{ name: "X", datatype: "FP32", dims: [-1, 4, -1], reshape: [2, -1, 2, -1] }],
    });
    const validated = validator.validate(
      new RequestSignature({ inputs: [input("X", [1, 5, 4, 7], "FP32")] }),
      "",
    );
    expect(validated.backendShapes).toEqual([[1, 2, 5, 2, 7]]);
  });
});

describe("the merge key", () => {
  const FREE: SampleConfigFields = {
    maxBatchSize: 8,
    inputs: [
      { name: "A", datatype: "FP32", dims: [-1, 2] },
      { name: "B", datatype: "FP32", dims: [3] },
    ],
  };
  const keyOf = (fields: SampleConfigFields, inputs: InputDescription[]) =>
    validatorOf(fields).validate(new RequestSignature({ inputs }), "").mergeKey;
  const b = input("B", [1, 3], "FP32");

  test("tells shapes of free dimensions apart, but not batch sizes", () => {
    const five = keyOf(FREE, [input("A", [1, 5, 2], "FP32"), b]);
    const six = keyOf(FREE, [input("A", [1, 6, 2], "FP32"), b]);
    const twoRows = keyOf(FREE, [input("A", [2, 5, 2], "FP32"), input("B", [2, 3], "FP32")]);
    expect(five).not.toBe(six);
    expect(five).toBe(twoRows);
  });

  test("does not look at ragged inputs", () => {
    const ragged: SampleConfigFields = {
      maxBatchSize: 8,
      inputs: [{ name: "A", datatype: "FP32", dims: [-1], allowsRaggedBatch: true }],
    };
    expect(keyOf(ragged, [input("A", [1, 5], "FP32")])).toBe("");
  });

  test("tells apart which optional inputs are there", () => {
    const optional: SampleConfigFields = {
      maxBatchSize: 8,
      inputs: [
        { name: "A", datatype: "FP32", dims: [1] },
        { name: "B", datatype: "FP32", dims: [1], isOptional: true },
        { name: "C", datatype: "FP32", dims: [1], isOptional: true },
      ],
    };
    const a = input("A", [1, 1], "FP32");
    const keys = [
      keyOf(optional, [a]),
      keyOf(optional, [a, input("B", [1, 1], "FP32")]),
      keyOf(optional, [a, input("C", [1, 1], "FP32")]),
      keyOf(optional, [a, input("B", [1, 1], "FP32"), input("C", [1, 1], "FP32")]),
    ];
    expect(new Set(keys).size).toBe(4);
  });
});

describe("optional inputs", () => {
  const OPTIONAL: SampleConfigFields = {
    inputs: [
      { name: "A", datatype: "FP32", dims: [1] },
      { name: "B", datatype: "FP32", dims: [1], isOptional: true },
      { name: "C", datatype: "FP32", dims: [1], isOptional: true },
    ],
  };
  const one = (name: string) => input(name, [1], "FP32");

  test("may be left out", () => {
    const validated = validatorOf(OPTIONAL).validate(
      new RequestSignature({ inputs: [one("C"), one("A")] }),
      "",
    );
    expect(validated.inputOrder).toEqual([1, -1, 0]);
    expect(validated.backendShapes).toEqual([[1], [], [1]]);
  });

  test("do not make up for a required one", () => {
    expect(refusal(validatorOf(OPTIONAL), { inputs: [one("B")] })).toBe(
      `${UNKNOWN_ID}expected number of inputs between 1 and 3 but got 1 inputs for model 'm'. ` +
        "Got input(s) ['B'], but missing required input(s) ['A']. " +
        "Please provide all required input(s).",
    );
  });
});

describe("a request is refused for", () => {
  const cases: readonly [string, RequestSignatureFields, string][] = [
    [
      "a missing input",
      { inputs: [GOOD0] },
      "expected 2 inputs but got 1 inputs for model 'add_sub'. Got input(s) ['INPUT0'], but missing required input(s) ['INPUT1']. Please provide all required input(s).",
    ],
    [
      "no input at all",
      { inputs: [] },
      "expected 2 inputs but got 0 inputs for model 'add_sub'. Got input(s) [], but missing required input(s) ['INPUT0','INPUT1']. Please provide all required input(s).",
    ],
    [
      "an input too many",
      { inputs: [GOOD0, GOOD1, input("INPUT2", [1, 16])] },
      "expected 2 inputs but got 3 inputs for model 'add_sub'. Got input(s) ['INPUT0','INPUT1','INPUT2'], of which ['INPUT2'] are no inputs of the model.",
    ],
    [
      "the same input twice",
      { inputs: [GOOD0, GOOD0] },
      "input 'INPUT0' already exists in request",
    ],
    [
      "an unknown input",
      { inputs: [GOOD0, input("potato", [1, 16])] },
      "unexpected inference input 'potato' for model 'add_sub'",
    ],
    [
      "a wrong datatype",
      { inputs: [GOOD0, input("INPUT1", [1, 16], "FP32")] },
      "inference input 'INPUT1' data-type is 'FP32', but model 'add_sub' expects 'INT32'",
    ],
    [
      "a row of another width",
      { inputs: [GOOD0, input("INPUT1", [1, 8])] },
      "unexpected shape for input 'INPUT1' for model 'add_sub'. Expected [-1,16], got [1,8]. NOTE: ",
    ],
    [
      "a dimension too many",
      { inputs: [GOOD0, input("INPUT1", [1, 1, 16])] },
      "Expected [-1,16], got [1,1,16]. ",
    ],
    [
      "an empty shape",
      { inputs: [GOOD0, input("INPUT1", [])] },
      "input 'INPUT1' has no shape but model requires batch dimension for 'add_sub'",
    ],
    [
      "inputs of different batch sizes",
      { inputs: [GOOD0, input("INPUT1", [2, 16])] },
      "input 'INPUT1' batch size does not match other inputs for 'add_sub'",
    ],
    [
      "a batch beyond the maximum",
      { inputs: [input("INPUT0", [9, 16]), input("INPUT1", [9, 16])] },
      "inference request batch-size must be <= 8 for 'add_sub'",
    ],
    [
      "a batch of nothing",
      { inputs: [input("INPUT0", [0, 16]), input("INPUT1", [0, 16])] },
      "inference request batch-size must be >= 1 for 'add_sub'",
    ],
    [
      "a negative dimension",
      { inputs: [GOOD0, input("INPUT1", [-1, 16])] },
      "has a negative dimension in its shape [-1,16] for model 'add_sub'",
    ],
    [
      "an unknown output",
      { inputs: [], outputs: [{ name: "potato", classificationCount: 0 }] },
      "unexpected inference output 'potato' for model 'add_sub'",
    ],
    [
      "an output without a name",
      { inputs: [GOOD0, GOOD1], outputs: [{ name: "", classificationCount: 0 }] },
      "unexpected inference output '' for model 'add_sub'",
    ],
  ];

  test.each(cases)("%s", (_, fields, text) => {
    expect(refusal(validatorOf(ADD_SUB), fields)).toStartWith(UNKNOWN_ID);
    expect(refusal(validatorOf(ADD_SUB), fields, "req-17")).toStartWith("[request id: req-17] ");
    expect(refusal(validatorOf(ADD_SUB), fields)).toContain(text);
  });

  test.each([[[2 ** 62, 2 ** 62]], [[2 ** 31, 2 ** 33]], [[1, 2 ** 62]], [[2 ** 62, 4]]])(
    "a shape whose size overflows: %j",
    (shape) => {
      const batched = validatorOf({
        maxBatchSize: 8,
        inputs: [{ name: "X", datatype: "UINT8", dims: [-1] }],
      });
      const plain = validatorOf({ inputs: [{ name: "X", datatype: "UINT8", dims: [-1, -1] }] });
      for (const validator of [batched, plain]) {
        expect(refusal(validator, { inputs: [input("X", shape, "UINT8")] })).toContain("'m'");
      }
    },
  );

  test("an element count that fits while the byte count overflows", () => {
    const validator = validatorOf({ inputs: [{ name: "X", datatype: "FP64", dims: [-1] }] });
    const fields = { inputs: [input("X", [2 ** 52], "FP64")] };
    expect(refusal(validator, fields)).toContain("too many elements");
  });

  test("a shape of another size where the model does not batch, without a word on batching", () => {
    const validator = validatorOf({ inputs: [{ name: "X", datatype: "FP32", dims: [2] }] });
    expect(refusal(validator, { inputs: [input("X", [3], "FP32")] })).toBe(
      `${UNKNOWN_ID}unexpected shape for input 'X' for model 'm'. Expected [2], got [3]. `,
    );
  });

  test("classes of an output whose datatype has no order", () => {
    const validator = validatorOf({
      inputs: [{ name: "X", datatype: "FP16", dims: [2] }],
      outputs: [{ name: "Y", datatype: "FP16", dims: [2] }],
    });
    const outputs = [{ name: "Y", classificationCount: 1 }];
    const text = refusal(validator, { inputs: [input("X", [2], "FP16")], outputs });
    expect(text).toContain("due to unsupported type 'FP16'");
  });
});
