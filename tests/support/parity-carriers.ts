import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  GRPCInferenceService,
  InferTensorContentsSchema,
  type ModelInferResponse,
} from "#gen/inference/grpc_service_pb.ts";
import type { Datatype } from "../../src/base/datatype.ts";
import type { ErrorCode } from "../../src/base/error.ts";
import type { Tensor } from "../../src/core/tensor/tensor.ts";
import { grpcStatusOf, httpStatusOf } from "../../src/frontends/status.ts";
import { LENGTH_HEADER } from "./http-test-server.ts";
import type { InferRequestInit } from "./infer-requests.ts";
import { packBytes } from "./sample-models.ts";
import { type Element, elementsOf, numbersOf, typedArrayOf } from "./tensor-elements.ts";

/** What a client wants to know, whichever way it asks. */
export interface LogicalRequest {
  readonly modelName: string;
  readonly modelVersion?: string;
  readonly id?: string;
  readonly inputs: readonly Tensor[];
  /** Names; all where nothing is said. */
  readonly outputs?: readonly string[];
}

/** What it learned. */
export type LogicalAnswer =
  | {
      readonly isGood: true;
      readonly modelVersion: string;
      readonly id: string;
      readonly outputs: readonly Tensor[];
    }
  | {
      readonly isGood: false;
      /** Number of the carrier's own kind of status. */
      readonly status: number;
      readonly text: string;
    };

/** One way to ask. */
export interface Carrier {
  readonly name: string;
  /** False where FP16 and BF16 cannot travel. */
  readonly hasHalfTypes: boolean;
  /** The status that stands for a code here. */
  statusOf(code: ErrorCode): number;
  infer(request: LogicalRequest): Promise<LogicalAnswer>;
}

interface JsonOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data?: readonly Element[];
  readonly parameters?: { readonly binary_data_size?: number };
}

interface JsonAnswer {
  readonly error?: string;
  readonly id?: string;
  readonly model_version: string;
  readonly outputs: readonly JsonOutput[];
}

function jsonTensor(tensor: Tensor, isBinary: boolean): object {
  const { name, datatype, shape, bytes } = tensor;
  return isBinary
    ? { name, datatype, shape, parameters: { binary_data_size: bytes.length } }
    : { name, datatype, shape, data: elementsOf(tensor).map(jsonElement) };
}

function jsonElement(element: Element): string | number | boolean {
  return typeof element === "bigint" ? Number(element) : element;
}

/** REST, with tensors as JSON or behind it as bytes. */
export function httpCarrier(url: string, isBinary: boolean): Carrier {
  return {
    name: isBinary ? "HTTP binary" : "HTTP JSON",
    hasHalfTypes: isBinary,
    statusOf: httpStatusOf,
    async infer({ modelName, modelVersion, id, inputs, outputs }) {
      const head = Buffer.from(
        JSON.stringify({
          id,
          inputs: inputs.map((tensor) => jsonTensor(tensor, isBinary)),
          outputs: outputs?.map((name) => ({ name, parameters: { binary_data: isBinary } })),
          parameters: { binary_data_output: isBinary },
        }),
      );
      const version = modelVersion === undefined ? "" : `/versions/${modelVersion}`;
      const response = await fetch(`${url}/v2/models/${modelName}${version}/infer`, {
        method: "POST",
        headers: isBinary ? { [LENGTH_HEADER]: String(head.length) } : {},
        body: isBinary ? Buffer.concat([head, ...inputs.map(({ bytes }) => bytes)]) : head,
      });
      const body = new Uint8Array(await response.arrayBuffer());
      const headBytes = Number(response.headers.get(LENGTH_HEADER) ?? body.length);
      const answer: JsonAnswer = JSON.parse(new TextDecoder().decode(body.subarray(0, headBytes)));
      if (answer.error !== undefined) {
        return { isGood: false, status: response.status, text: answer.error };
      }
      let at = headBytes;
      const tensors = answer.outputs.map(({ name, datatype, shape, data, parameters }) => {
        const start = at;
        at += parameters?.binary_data_size ?? 0;
        const bytes = data ? bytesFromElements(datatype, data) : body.slice(start, at);
        return { name, datatype, shape, bytes };
      });
      return {
        isGood: true,
        modelVersion: answer.model_version,
        id: answer.id ?? "",
        outputs: tensors,
      };
    },
  };
}

function bytesFromElements(datatype: Datatype, elements: readonly Element[]): Uint8Array {
  return datatype === "BYTES" ? packBytes(elements.map(String)) : typedArrayOf(datatype, elements);
}

function contentsOf(tensor: Tensor) {
  const elements = elementsOf(tensor);
  const numbers = numbersOf(elements);
  const bigints = elements.map((element) => (typeof element === "bigint" ? element : 0n));
  switch (tensor.datatype) {
    case "BOOL":
      return { boolContents: elements.map(Boolean) };
    case "BYTES":
      return { bytesContents: elements.map((element) => Buffer.from(String(element))) };
    case "INT64":
      return { int64Contents: bigints };
    case "UINT64":
      return { uint64Contents: bigints };
    case "FP32":
      return { fp32Contents: numbers };
    case "FP64":
      return { fp64Contents: numbers };
    default:
      return tensor.datatype.startsWith("U") ? { uintContents: numbers } : { intContents: numbers };
  }
}

function messageOf(request: LogicalRequest, isTyped: boolean): InferRequestInit {
  const { modelName, modelVersion = "", id = "", inputs, outputs = [] } = request;
  return {
    modelName,
    modelVersion,
    id,
    outputs: outputs.map((name) => ({ name })),
    inputs: inputs.map((tensor) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: tensor.shape.map(BigInt),
      ...(isTyped ? { contents: create(InferTensorContentsSchema, contentsOf(tensor)) } : {}),
    })),
    rawInputContents: isTyped ? [] : inputs.map(({ bytes }) => Uint8Array.from(bytes)),
  };
}

function answerOf({
  modelVersion,
  id,
  outputs,
  rawOutputContents,
}: ModelInferResponse): LogicalAnswer {
  return {
    isGood: true,
    modelVersion,
    id,
    outputs: outputs.map(({ name, datatype, shape }, i) => ({
      name,
      datatype: datatype as Datatype,
      shape: shape.map(Number),
      bytes: rawOutputContents[i] ?? new Uint8Array(0),
    })),
  };
}

/** The inference service by one of ConnectRPC's protocols. */
function rpcCarrier(name: string, transport: Transport, isTyped: boolean): Carrier {
  const client = createClient(GRPCInferenceService, transport);
  return {
    name,
    hasHalfTypes: !isTyped,
    statusOf: grpcStatusOf,
    async infer(request) {
      try {
        return answerOf(await client.modelInfer(messageOf(request, isTyped)));
      } catch (thrown) {
        const { code, rawMessage } = ConnectError.from(thrown, Code.Unknown);
        return { isGood: false, status: code, text: rawMessage };
      }
    },
  };
}

/** All ways by RPC: gRPC on its own port, gRPC-web and Connect on the HTTP port. */
export function rpcCarriers(httpUrl: string, grpcTarget: string): Carrier[] {
  const grpc = createGrpcTransport({ baseUrl: `http://${grpcTarget}` });
  const overHttp = { baseUrl: httpUrl, httpVersion: "1.1" as const };
  const connect = createConnectTransport({ ...overHttp, useBinaryFormat: true });
  return [
    rpcCarrier("gRPC raw", grpc, false),
    rpcCarrier("gRPC typed", grpc, true),
    rpcCarrier("gRPC-web", createGrpcWebTransport(overHttp), false),
    rpcCarrier("Connect", connect, false),
    rpcCarrier(
      "Connect JSON",
      createConnectTransport({ ...overHttp, useBinaryFormat: false }),
      true,
    ),
  ];
}
