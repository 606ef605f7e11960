import { describe, expect, test } from "bun:test";
import { InferRequestDecoder } from "../../../../../src/frontends/grpc/codec/infer-request-decoder.ts";
import {
  type InferRequestInit,
  int32Bytes,
  int32sOf,
  messageBytes,
  sumRequest,
  typedSumRequest,
} from "../../../../support/infer-requests.ts";

function decode(decoder: InferRequestDecoder, fields: InferRequestInit) {
  return decoder.decode(decoder.open(Buffer.from(messageBytes(fields))));
}

describe("InferRequestDecoder", () => {
  test("hands out one signature for requests of one form", () => {
    const decoder = new InferRequestDecoder();
    const first = decode(decoder, sumRequest({ id: "1" }));
    const second = decode(
      decoder,
      sumRequest({ id: "zwei €", rawInputContents: [int32Bytes([1]), int32Bytes([2])] }),
    );
    expect(second.form).toBe(first.form);
    expect([first.id, second.id]).toEqual(["1", "zwei €"]);
    expect(second.inputBytes.map(int32sOf)).toEqual([[1], [2]]);
  });

  test("reads names, datatypes, shapes and outputs", () => {
    const { form } = decode(
      new InferRequestDecoder(),
      sumRequest({
        modelVersion: "3",
        outputs: [
          {
            name: "OUTPUT0",
            parameters: {
              classification: { parameterChoice: { case: "int64Param", value: 2n } },
            },
          },
        ],
      }),
    );
    expect([form.modelName, form.modelVersion]).toEqual(["add_sub", "3"]);
    expect(form.signature.inputs[1]).toEqual({ name: "INPUT1", datatype: "INT32", shape: [1, 16] });
    expect(form.signature.outputs).toEqual([{ name: "OUTPUT0", classificationCount: 2 }]);
  });

  test("never hands out views that are Buffers", () => {
    const decoder = new InferRequestDecoder();
    for (let i = 0; i < 2; i++) {
      for (const bytes of decode(decoder, sumRequest()).inputBytes) {
        expect(bytes).not.toBeInstanceOf(Buffer);
      }
    }
  });

  test("keeps no form of a request that it refuses", () => {
    const decoder = new InferRequestDecoder();
    const short = sumRequest({ rawInputContents: [int32Bytes([1])] });
    for (let i = 0; i < 2; i++) {
      expect(() => decode(decoder, short)).toThrow("unable to find data for input tensor 'INPUT1'");
    }
    decode(decoder, sumRequest());
    expect(() => decode(decoder, short)).toThrow("unable to find data for input tensor 'INPUT1'");
  });

  test.each<[InferRequestInit, string]>([
    [
      typedSumRequest({ rawInputContents: [int32Bytes([1])] }),
      "must not be specified when using raw",
    ],
    [
      sumRequest({ rawInputContents: [1, 2, 3].map((i) => int32Bytes([i])) }),
      "expected 2, one for each input, got 3",
    ],
    [
      sumRequest({ inputs: [{ name: "I", datatype: "STRING", shape: [1n] }] }),
      "'I' for model 'add_sub' has the unknown data-type 'STRING'",
    ],
    [
      sumRequest({
        inputs: [
          {
            name: "I",
            datatype: "INT32",
            parameters: {
              shared_memory_region: { parameterChoice: { case: "stringParam", value: "r" } },
            },
          },
        ],
      }),
      "input 'I' is said to be in shared memory",
    ],
    [
      sumRequest({
        outputs: [
          {
            name: "O",
            parameters: { classification: { parameterChoice: { case: "int64Param", value: 0n } } },
          },
        ],
      }),
      "'classification' parameter of output 'O', expected > 0, got 0",
    ],
    [
      sumRequest({
        outputs: [
          {
            name: "O",
            parameters: {
              classification: { parameterChoice: { case: "stringParam", value: "2" } },
            },
          },
        ],
      }),
      "'classification' parameter of output 'O', expected int64_param",
    ],
  ])("refuses %#", (fields, text) => {
    expect(() => decode(new InferRequestDecoder(), fields)).toThrow(text);
  });

  test("refuses what is no ModelInferRequest", () => {
    expect(() => new InferRequestDecoder().open(Buffer.from("hello"))).toThrow(
      "not a valid ModelInferRequest",
    );
  });
});
