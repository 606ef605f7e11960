import { describe, expect, test } from "bun:test";
import type { Datatype } from "../../../../src/base/datatype.ts";
import {
  type CompletionTensor,
  completeConfig,
  defaultMaxBatchSizeFrom,
} from "../../../../src/core/config/complete-config.ts";
import { configToJson } from "../../../../src/core/config/config-json.ts";
import { parseConfigText } from "../../../../src/core/config/parse-config.ts";
import { refusalOf } from "../../../support/config-texts.ts";

type Shape = readonly number[];

function tensor(
  name: string,
  shape: Shape | undefined,
  datatype: Datatype | undefined = "FP32",
): CompletionTensor {
  return { name, datatype, nativeType: "tensor(float)", shape, isOptional: false };
}

interface CompletedTensor {
  readonly name: string;
  readonly data_type: string;
  readonly dims: Shape;
  readonly reshape?: { readonly shape: Shape };
  readonly label_filename?: string;
}

interface Completed {
  readonly max_batch_size: number;
  readonly input: readonly CompletedTensor[];
  readonly output: readonly CompletedTensor[];
  readonly dynamic_batching?: { readonly preferred_batch_size: Shape };
  readonly sequence_batching?: object;
}

function complete(
  text: string,
  inputs: readonly CompletionTensor[],
  outputs: readonly CompletionTensor[],
  defaultMaxBatchSize = 4,
): Completed {
  const { message, givenFields } = parseConfigText(`name: "m" backend: "onnxruntime" ${text}`, "f");
  completeConfig(message, { inputs, outputs }, { givenFields, defaultMaxBatchSize });
  return JSON.parse(configToJson(message)) as Completed;
}

const BATCHED = [[tensor("INPUT0", [-1, 4])], [tensor("OUTPUT0", [-1, 4])]] as const;
const FIXED = [[tensor("INPUT0", [1, 4])], [tensor("OUTPUT0", [1, 4])]] as const;
const INPUT = 'input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 } ';
const OUTPUT = 'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 } ';

function shapes({ input, output }: Completed): readonly (readonly Shape[])[] {
  return [input.map(({ dims }) => dims), output.map(({ dims }) => dims)];
}

describe("completeConfig", () => {
  test("takes a free first dimension for the batch, with size 4 and dynamic batching", () => {
    const got = complete("", ...BATCHED);
    expect(got.max_batch_size).toBe(4);
    expect(shapes(got)).toEqual([[[4]], [[4]]]);
    expect(got.dynamic_batching?.preferred_batch_size).toEqual([4]);
  });

  test("takes a fixed first dimension for no batching", () => {
    const got = complete("", ...FIXED);
    expect(got.max_batch_size).toBe(0);
    expect(shapes(got)).toEqual([[[1, 4]], [[1, 4]]]);
    expect(got.dynamic_batching).toBeUndefined();
  });

  test("keeps free dimensions behind the batch", () => {
    const got = complete("", [tensor("INPUT0", [-1, -1, 3])], [tensor("OUTPUT0", [-1])]);
    expect(shapes(got)).toEqual([[[-1, 3]], [[1]]]);
    expect(got.output[0]?.reshape).toEqual({ shape: [] });
  });

  test("leaves a dimension free that is 0 in the model file", () => {
    const got = complete("", [tensor("X", [2, 0, 3])], [tensor("Y", [0])]);
    expect(shapes(got)).toEqual([[[2, -1, 3]], [[-1]]]);
  });

  test("turns batching off when one tensor cannot", () => {
    const got = complete("", [tensor("A", [-1, 2]), tensor("B", [3])], [tensor("C", [-1, 2])]);
    expect(got.max_batch_size).toBe(0);
    expect(shapes(got)).toEqual([[[-1, 2], [3]], [[-1, 2]]]);
  });

  test.each([[[] as Shape], [undefined]])(
    "gives a tensor of rank %j dims [1] and no batching",
    (shape) => {
      const got = complete("", [tensor("INPUT0", shape)], [tensor("OUTPUT0", shape)]);
      expect(got.max_batch_size).toBe(0);
      expect(got.input[0]).toMatchObject({ dims: [1] });
      expect(got.input[0]?.reshape).toBeUndefined();
    },
  );

  test.each([
    [1, false],
    [2, true],
    [32, true],
  ])("keeps max_batch_size %i; dynamic batching: %p", (size, isDynamic) => {
    const got = complete(`max_batch_size: ${size}`, ...BATCHED);
    expect(got.max_batch_size).toBe(size);
    expect(got.dynamic_batching !== undefined).toBe(isDynamic);
  });

  test("keeps a written max_batch_size of 0", () => {
    const got = complete("max_batch_size: 0", ...BATCHED);
    expect(got.max_batch_size).toBe(0);
    expect(shapes(got)).toEqual([[[-1, 4]], [[-1, 4]]]);
    expect(got.dynamic_batching).toBeUndefined();
  });

  test("leaves out what is between the model and the scheduler of its sequences", () => {
    const names = ({ input, output }: Completed) => [...input, ...output].map(({ name }) => name);
    const got = complete(
      `sequence_batching {
        control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
        state { input_name: "S_IN" output_name: "S_OUT" data_type: TYPE_FP32 dims: 4 } }`,
      ["INPUT0", "START", "S_IN"].map((name) => tensor(name, [-1, 4])),
      ["OUTPUT0", "S_OUT"].map((name) => tensor(name, [-1, 4])),
    );
    expect(names(got)).toEqual(["INPUT0", "OUTPUT0"]);
  });

  test("keeps a given scheduler and its settings", () => {
    const sequence = complete("max_batch_size: 8 sequence_batching {}", ...BATCHED);
    expect(sequence.dynamic_batching).toBeUndefined();
    expect(sequence.sequence_batching).toMatchObject({ max_sequence_idle_microseconds: 1_000_000 });
    const dynamic = complete(
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: 2 }",
      ...BATCHED,
    );
    expect(dynamic.dynamic_batching?.preferred_batch_size).toEqual([2]);
    const sized = complete("dynamic_batching {}", ...BATCHED);
    expect(sized.dynamic_batching?.preferred_batch_size).toEqual([4]);
  });

  test("leaves a full configuration alone", () => {
    const got = complete(`max_batch_size: 8 ${INPUT}${OUTPUT}`, ...BATCHED);
    expect(got.dynamic_batching).toBeUndefined();
    expect(complete(INPUT + OUTPUT, ...BATCHED).max_batch_size).toBe(0);
  });

  test("fills in only the missing side", () => {
    const got = complete(`max_batch_size: 8 ${INPUT}`, ...BATCHED);
    expect(got.max_batch_size).toBe(8);
    expect(shapes(got)).toEqual([[[4]], [[4]]]);
  });

  test("takes a given whole shape for no batching", () => {
    const input = 'input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1, 4 ] }';
    const got = complete(input, ...BATCHED);
    expect(got.max_batch_size).toBe(0);
    expect(shapes(got)).toEqual([[[-1, 4]], [[-1, 4]]]);
  });

  test("fills in tensors that give only their name, and keeps what else they say", () => {
    const output = 'output { name: "OUTPUT0" label_filename: "l.txt" }';
    for (const text of [output, INPUT + output]) {
      const got = complete(`max_batch_size: 8 ${text}`, ...BATCHED);
      expect(got.output).toMatchObject([
        { name: "OUTPUT0", data_type: "TYPE_FP32", dims: [4], label_filename: "l.txt" },
      ]);
      expect(shapes(got)).toEqual([[[4]], [[4]]]);
    }
  });

  test("leaves tensors alone that lack their type or their dims", () => {
    const got = complete(
      `max_batch_size: 8 input { name: "INPUT0" dims: 4 } ${OUTPUT}`,
      ...BATCHED,
    );
    expect(got.input[0]?.data_type).toBe("TYPE_INVALID");
  });

  test("takes data types from the report", () => {
    const got = complete("", [tensor("A", [2], "BYTES")], [tensor("B", [2], "BF16")]);
    expect([got.input[0]?.data_type, got.output[0]?.data_type]).toEqual([
      "TYPE_STRING",
      "TYPE_BF16",
    ]);
  });

  test("leaves out inputs that the model can do without", () => {
    const weight = { ...tensor("W", [4]), isOptional: true };
    const got = complete("", [tensor("INPUT0", [-1, 4]), weight], [tensor("OUTPUT0", [-1, 4])]);
    expect(got.max_batch_size).toBe(4);
    expect(got.input.map(({ name }) => name)).toEqual(["INPUT0"]);
  });

  test("refuses batching that the model cannot do", () => {
    expect(refusalOf(() => complete("max_batch_size: 8", ...FIXED))).toBe(
      "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified",
    );
  });

  test("refuses types that the protocol lacks, naming them", () => {
    const odd = { ...tensor("S", [-1, 1]), datatype: undefined, nativeType: "sequence(float)" };
    expect(refusalOf(() => complete("", [odd], [tensor("OUTPUT0", [-1, 4])]))).toBe(
      "autofill failed for model 'm': input 'S' has the type 'sequence(float)', which has no counterpart in the " +
        "inference protocol",
    );
  });

  test("completes nothing from an empty report but the defaults", () => {
    const got = complete("max_batch_size: 8 dynamic_batching {}", [], []);
    expect(shapes(got)).toEqual([[], []]);
    expect(got.dynamic_batching?.preferred_batch_size).toEqual([8]);
  });

  test("uses the default batch size it is given; 1 gets no dynamic batching", () => {
    expect(complete("", ...BATCHED).max_batch_size).toBe(4);
    expect(complete("", ...BATCHED, 6).dynamic_batching?.preferred_batch_size).toEqual([6]);
    const one = complete("", ...BATCHED, 1);
    expect([one.max_batch_size, one.dynamic_batching]).toEqual([1, undefined]);
  });
});

describe("defaultMaxBatchSizeFrom", () => {
  test("reads the setting, 4 without one", () => {
    expect(defaultMaxBatchSizeFrom({})).toBe(4);
    expect(defaultMaxBatchSizeFrom({ "default-max-batch-size": "6" })).toBe(6);
  });

  test.each(["", "-1", "4.5", "many"])("refuses '%s'", (text) => {
    expect(refusalOf(() => defaultMaxBatchSizeFrom({ "default-max-batch-size": text }))).toBe(
      `--backend-config default-max-batch-size must be a whole number, got '${text}'`,
    );
  });
});
