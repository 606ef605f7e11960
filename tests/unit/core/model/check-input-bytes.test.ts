import { expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { checkInputBytes } from "../../../../src/core/model/check-input-bytes.ts";
import { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import {
  type InputDescription,
  RequestSignature,
  type ValidatedSignature,
} from "../../../../src/core/request/request-signature.ts";
import { RecordingSink } from "../../../support/recording-sink.ts";

function fault(
  input: InputDescription,
  expected: number,
  count: number,
  bytes: Uint8Array[],
  id = "",
) {
  const request = new InferenceRequest({
    signature: new RequestSignature({ inputs: [input] }),
    id,
    inputBytes: bytes,
    sink: new RecordingSink(),
    arrivalNs: 0,
  });
  const validated: ValidatedSignature = {
    model: {},
    batchSize: 1,
    inputOrder: [0],
    backendShapes: [input.shape],
    expectedBytes: [expected],
    elementCounts: [count],
    mergeKey: "",
    outputIndexes: undefined,
  };
  try {
    checkInputBytes(request, validated, "m");
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(InferenceError);
    expect((error as InferenceError).code).toBe("INVALID_ARG");
    return (error as InferenceError).message;
  }
}

const TEXT: InputDescription = { name: "TEXT", datatype: "BYTES", shape: [1] };
const NUMBER: InputDescription = { name: "X", datatype: "FP32", shape: [2] };

test("the right number of bytes passes", () => {
  expect(fault(NUMBER, 8, 2, [new Uint8Array(8)])).toBeUndefined();
});

test("a tensor without elements has no bytes", () => {
  expect(fault(NUMBER, 0, 0, [new Uint8Array(0)])).toBeUndefined();
  expect(fault(TEXT, -1, 0, [new Uint8Array(0)])).toBeUndefined();
});

test.each([4, 12, 0])("%p bytes instead of 8 are refused with both numbers", (length) => {
  expect(fault(NUMBER, 8, 2, [new Uint8Array(length)], "7")).toBe(
    `[request id: 7] input byte size mismatch for input 'X' for model 'm'. Expected 8, got ${length}`,
  );
});

test("an input without any bytes is refused by name", () => {
  expect(fault(NUMBER, 8, 2, [])).toContain("input 'X' has no data");
});

const BYTES_FAULTS: readonly [string, number[], number, string][] = [
  [
    "a tail shorter than a length",
    [1, 2, 3],
    1,
    "incomplete string length indicator for inference input 'TEXT' for model 'm', expecting 4 bytes but only 3 bytes available. Expecting 1 string elements, got 0",
  ],
  [
    "a string cut short",
    [5, 0, 0, 0, 97],
    1,
    "incomplete string data for inference input 'TEXT' for model 'm', expecting string of length 5 but only 1 bytes available. Expecting 1 string elements, got 0",
  ],
  [
    "a length of four billion",
    [255, 255, 255, 255, 97],
    1,
    "expecting string of length 4294967295 but only 1 bytes",
  ],
  [
    "a byte too many",
    [1, 0, 0, 0, 97, 120],
    1,
    "unexpected number of string elements 2 for inference input 'TEXT' for model 'm', expecting 1",
  ],
  ["one string too many", [0, 0, 0, 0, 0, 0, 0, 0], 1, "unexpected number of string elements 2"],
  [
    "one string too few",
    [1, 0, 0, 0, 97],
    2,
    "expected 2 string elements for inference input 'TEXT' for model 'm', got 1",
  ],
  [
    "nothing at all",
    [],
    1,
    "expected 1 string elements for inference input 'TEXT' for model 'm', got 0",
  ],
];

test.each(BYTES_FAULTS)("BYTES with %s are refused", (_, bytes, count, text) => {
  expect(fault(TEXT, -1, count, [Uint8Array.from(bytes)])).toContain(text);
});

test("BYTES whose elements add up pass", () => {
  const bytes = Uint8Array.from([2, 0, 0, 0, 97, 0, 0, 0, 0, 0]);
  expect(fault(TEXT, -1, 2, [bytes])).toBeUndefined();
});
