import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  ModelInferRequestSchema,
  type ModelStreamInferResponse,
} from "#gen/inference/grpc_service_pb.ts";
import { packBytes, unpackBytes } from "./sample-models.ts";

/** Fields of a ModelInferRequest. */
export type InferRequestInit = MessageInitShape<typeof ModelInferRequestSchema>;

/** A serialised ModelInferRequest. */
export function messageBytes(fields: InferRequestInit): Uint8Array {
  return toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, fields));
}

/** Little-endian INT32 elements. */
export function int32Bytes(values: Iterable<number>): Uint8Array {
  return new Uint8Array(Int32Array.from(values).buffer);
}

/** INT32 elements out of raw bytes. */
export function int32sOf(bytes: Uint8Array | undefined): number[] {
  return bytes ? [...new Int32Array(Uint8Array.from(bytes).buffer)] : [];
}

/** 0, 1, … 15 */
export const A = Array.from({ length: 16 }, (_, i) => i);
/** sixteen threes */
export const B = new Array<number>(16).fill(3);

/** add_sub of {@link A} and {@link B} with raw contents. */
export function sumRequest(fields: InferRequestInit = {}): InferRequestInit {
  return {
    modelName: "add_sub",
    inputs: ["INPUT0", "INPUT1"].map((name) => ({ name, datatype: "INT32", shape: [1n, 16n] })),
    rawInputContents: [int32Bytes(A), int32Bytes(B)],
    ...fields,
  };
}

/** The same with typed contents. */
export function typedSumRequest(fields: InferRequestInit = {}): InferRequestInit {
  return {
    modelName: "add_sub",
    inputs: [
      { name: "INPUT0", datatype: "INT32", shape: [1n, 16n], contents: { intContents: A } },
      { name: "INPUT1", datatype: "INT32", shape: [1n, 16n], contents: { intContents: B } },
    ],
    ...fields,
  };
}

/** An identity request of INT32 elements, to `id_int32` where nothing else is said. */
export function echoRequest(
  values: readonly number[],
  fields: InferRequestInit = {},
): InferRequestInit {
  return {
    modelName: "id_int32",
    inputs: [{ name: "INPUT0", datatype: "INT32", shape: [BigInt(values.length)] }],
    rawInputContents: [int32Bytes(values)],
    ...fields,
  };
}

/** An identity request of bytes to `id_uint8`. */
export function bytesRequest(bytes: Uint8Array, fields: InferRequestInit = {}): InferRequestInit {
  return {
    modelName: "id_uint8",
    inputs: [{ name: "INPUT0", datatype: "UINT8", shape: [BigInt(bytes.length)] }],
    rawInputContents: [bytes],
    ...fields,
  };
}

/** `count` responses of the decoupled model `repeat`; a negative count ends with an error. */
export function repeatRequest(count: number, fields: InferRequestInit = {}): InferRequestInit {
  return {
    modelName: "repeat",
    inputs: [
      { name: "COUNT", datatype: "INT32", shape: [1n] },
      { name: "TEXT", datatype: "BYTES", shape: [1n] },
    ],
    rawInputContents: [int32Bytes([count]), packBytes(["t"])],
    ...fields,
  };
}

/** A boolean parameter. */
export function boolParameter(value: boolean) {
  return { parameterChoice: { case: "boolParam" as const, value } };
}

/** Whether an answer of a stream says that it is the last; undefined where it does not say. */
export function isFinal(answer: ModelStreamInferResponse): boolean | undefined {
  const choice = answer.inferResponse?.parameters["triton_final_response"]?.parameterChoice;
  return choice?.case === "boolParam" ? choice.value : undefined;
}

/** The text of an answer of `repeat`; undefined where it has no tensors. */
export function textOf(answer: ModelStreamInferResponse): string | undefined {
  const raw = answer.inferResponse?.rawOutputContents[0];
  return raw && new TextDecoder().decode(unpackBytes(raw)[0]);
}
