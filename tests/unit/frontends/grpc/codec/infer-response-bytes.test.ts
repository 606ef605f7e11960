import { describe, expect, test } from "bun:test";
import { fromBinary } from "@bufbuild/protobuf";
import {
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from "#gen/inference/grpc_service_pb.ts";
import type { InferenceResponse } from "../../../../../src/core/request/inference-response.ts";
import {
  NO_PARAMETERS,
  RequestSignature,
} from "../../../../../src/core/request/request-signature.ts";
import type { Tensor } from "../../../../../src/core/tensor/tensor.ts";
import type { InferRequestForm } from "../../../../../src/frontends/grpc/codec/infer-request-form.ts";
import {
  inferResponseFrame,
  streamResponseFrame,
} from "../../../../../src/frontends/grpc/codec/infer-response-bytes.ts";
import { inferResponseMessage } from "../../../../../src/frontends/grpc/codec/infer-response-message.ts";

function form(): InferRequestForm {
  return {
    modelName: "m",
    modelVersion: "",
    signature: new RequestSignature({ inputs: [] }),
    wantsEmptyFinalResponse: false,
    responseTemplate: undefined,
  };
}

function tensor(name: string, byteCount: number): Tensor {
  const bytes = new Uint8Array(byteCount).map((_, i) => i);
  return { name, datatype: "UINT8", shape: [byteCount], bytes };
}

function response(fields: Partial<InferenceResponse> = {}): InferenceResponse {
  return {
    modelName: "m",
    modelVersion: "7",
    id: "",
    parameters: NO_PARAMETERS,
    outputs: [tensor("O", 3)],
    ...fields,
  };
}

/** The message in a frame, after a check of its prefix. */
function messageIn(frame: Buffer): Uint8Array {
  expect(frame[0]).toBe(0);
  expect(frame.readUInt32BE(1)).toBe(frame.length - 5);
  return frame.subarray(5);
}

describe("response frames", () => {
  test.each<[string, Partial<InferenceResponse>]>([
    ["one output", {}],
    ["an id beyond ASCII", { id: "é中😀" }],
    ["a long id", { id: "x".repeat(300) }],
    ["no outputs", { outputs: [] }],
    ["an empty output", { outputs: [tensor("O", 0)] }],
    [
      "outputs of every length of a length",
      { outputs: [0, 127, 128, 16383, 16384, 2097152].map((n) => tensor(`O${n}`, n)) },
    ],
    [
      "parameters",
      {
        parameters: new Map([
          ["b", { kind: "bool", value: false }],
          ["i", { kind: "int64", value: -5n }],
          ["s", { kind: "string", value: "é" }],
          ["d", { kind: "double", value: 0.5 }],
        ]),
      },
    ],
  ])("say what protobuf-es would say, for %s", (_, fields) => {
    const own = form();
    // The second frame is made with the template of the first.
    for (let i = 0; i < 2; i++) {
      const decoded = fromBinary(
        ModelInferResponseSchema,
        messageIn(inferResponseFrame(response(fields), own)),
      );
      expect(decoded).toEqual(inferResponseMessage(response(fields)));
    }
  });

  test("do not take an outdated template", () => {
    const own = form();
    const variants: Partial<InferenceResponse>[] = [
      {},
      { modelVersion: "8" },
      { modelName: "n" },
      { outputs: [tensor("O", 4)] },
      { outputs: [tensor("P", 3)] },
      { outputs: [{ ...tensor("O", 3), datatype: "INT8" }] },
      { outputs: [tensor("O", 3), tensor("P", 3)] },
      {},
    ];
    for (const fields of variants) {
      const decoded = fromBinary(
        ModelInferResponseSchema,
        messageIn(inferResponseFrame(response(fields), own)),
      );
      expect(decoded).toEqual(inferResponseMessage(response(fields)));
    }
  });

  test.each([true, false])(
    "of a stream carry the final flag %p beside the model's parameters",
    (isFinal) => {
      const fields = {
        id: "s",
        parameters: new Map([["b", { kind: "bool", value: true } as const]]),
      };
      const frame = streamResponseFrame(response(fields), form(), isFinal);
      const decoded = fromBinary(ModelStreamInferResponseSchema, messageIn(frame));
      const flag = new Map([["triton_final_response", { kind: "bool", value: isFinal } as const]]);
      expect(decoded.errorMessage).toBe("");
      expect(decoded.inferResponse).toEqual(inferResponseMessage(response(fields), flag));
    },
  );

  test("copy the bytes of their tensors", () => {
    const output = tensor("O", 3);
    const frame = inferResponseFrame(response({ outputs: [output] }), form());
    const message = inferResponseMessage(response({ outputs: [output] }));
    output.bytes.fill(9);
    expect([...frame.subarray(-3)]).toEqual([0, 1, 2]);
    expect(message.rawOutputContents).toEqual([Uint8Array.of(0, 1, 2)]);
  });
});
