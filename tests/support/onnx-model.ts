/**
 * Writes small ONNX models without Python. Field numbers are those of the public onnx.proto3 (IR version 8); only what
 * the tests need is here.
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** `TensorProto.DataType`. */
export const ONNX_TYPES = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
  COMPLEX64: 14,
  BF16: 16,
} as const;

/** Element type by the protocol's name; COMPLEX64 stands for what the protocol has not. */
export type OnnxType = keyof typeof ONNX_TYPES;

/** A graph input or output; a text is a named free dimension, −1 one without a name. */
export interface OnnxValue {
  readonly name: string;
  readonly type: OnnxType;
  /** undefined = free rank. */
  readonly shape: readonly (number | string)[] | undefined;
  /** A sequence of such tensors. */
  readonly isSequence?: boolean;
}

/** One operator of the graph. */
export interface OnnxNode {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Integers and lists of integers are all that is needed; tensors for Constant-like operators. */
  readonly attributes?: Readonly<Record<string, number | readonly number[] | OnnxTensor>>;
  readonly domain?: string;
}

/** A constant of the graph. */
export interface OnnxTensor {
  readonly name: string;
  readonly type: OnnxType;
  readonly shape: readonly number[];
  /** Little-endian elements, or where they lie beside the model. */
  readonly data: Uint8Array | { readonly location: string; readonly byteLength: number };
}

/** What an ONNX file is made of. */
export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly initializers?: readonly OnnxTensor[];
  /** Old enough for onnxruntime 1.17 where nothing is said. */
  readonly opset?: number;
}

const IR_VERSION = 8;
const DEFAULT_OPSET = 17;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_TENSOR = 4;
const ATTRIBUTE_INTS = 7;

type Write = (writer: BinaryWriter) => void;

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, WireType.LengthDelimited).string(value);
}

function integer(writer: BinaryWriter, field: number, value: number): void {
  writer.tag(field, WireType.Varint).int64(value);
}

/** The bytes of `model.onnx`. */
export function onnxModel(graph: OnnxGraph): Uint8Array {
  const writer = new BinaryWriter();
  integer(writer, 1, IR_VERSION);
  for (const domain of ["", ...new Set(graph.nodes.map((node) => node.domain ?? ""))]) {
    message(writer, 8, (w) => {
      text(w, 1, domain);
      integer(w, 2, domain === "" ? (graph.opset ?? DEFAULT_OPSET) : 1);
    });
  }
  message(writer, 7, (w) => {
    for (const node of graph.nodes) message(w, 1, (inner) => writeNode(inner, node));
    text(w, 2, "graph");
    for (const tensor of graph.initializers ?? []) {
      message(w, 5, (inner) => writeTensor(inner, tensor));
    }
    for (const input of graph.inputs) message(w, 11, (inner) => writeValue(inner, input));
    for (const output of graph.outputs) message(w, 12, (inner) => writeValue(inner, output));
  });
  return writer.finish();
}

function writeNode(writer: BinaryWriter, node: OnnxNode): void {
  for (const input of node.inputs) text(writer, 1, input);
  for (const output of node.outputs) text(writer, 2, output);
  text(writer, 4, node.operator);
  if (node.domain !== undefined) text(writer, 7, node.domain);
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    message(writer, 5, (w) => {
      text(w, 1, name);
      if (typeof value === "number") {
        integer(w, 3, value);
        integer(w, 20, ATTRIBUTE_INT);
      } else if ("data" in value) {
        message(w, 5, (inner) => writeTensor(inner, value));
        integer(w, 20, ATTRIBUTE_TENSOR);
      } else {
        for (const one of value) integer(w, 8, one);
        integer(w, 20, ATTRIBUTE_INTS);
      }
    });
  }
}

function writeTensor(writer: BinaryWriter, tensor: OnnxTensor): void {
  for (const dim of tensor.shape) integer(writer, 1, dim);
  integer(writer, 2, ONNX_TYPES[tensor.type]);
  text(writer, 8, tensor.name);
  if (tensor.data instanceof Uint8Array) {
    writer.tag(9, WireType.LengthDelimited).bytes(tensor.data);
    return;
  }
  const { location, byteLength } = tensor.data;
  for (const [key, value] of Object.entries({ location, offset: "0", length: `${byteLength}` })) {
    message(writer, 13, (w) => {
      text(w, 1, key);
      text(w, 2, value);
    });
  }
  integer(writer, 14, 1);
}

function writeValue(writer: BinaryWriter, value: OnnxValue): void {
  text(writer, 1, value.name);
  message(writer, 2, (type) => {
    if (value.isSequence === true) {
      message(type, 4, (sequence) => message(sequence, 1, (w) => writeTensorType(w, value)));
    } else writeTensorType(type, value);
  });
}

function writeTensorType(writer: BinaryWriter, { type, shape }: OnnxValue): void {
  message(writer, 1, (tensor) => {
    integer(tensor, 1, ONNX_TYPES[type]);
    if (shape === undefined) return;
    message(tensor, 2, (dims) => {
      for (const dim of shape) {
        message(dims, 1, (w) => {
          if (typeof dim === "string") text(w, 2, dim);
          else if (dim >= 0) integer(w, 1, dim);
        });
      }
    });
  });
}

/** OUTPUT0 = INPUT0. */
export function identityModel(
  type: OnnxType = "FP32",
  shape: OnnxValue["shape"] = ["batch", "n"],
): Uint8Array {
  return onnxModel({
    nodes: [{ operator: "Identity", inputs: ["INPUT0"], outputs: ["OUTPUT0"] }],
    inputs: [{ name: "INPUT0", type, shape }],
    outputs: [{ name: "OUTPUT0", type, shape }],
  });
}

/** OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 − INPUT1. */
export function addSubModel(
  type: OnnxType = "INT32",
  shape: OnnxValue["shape"] = ["batch", 16],
): Uint8Array {
  return onnxModel({
    nodes: [
      { operator: "Add", inputs: ["INPUT0", "INPUT1"], outputs: ["OUTPUT0"] },
      { operator: "Sub", inputs: ["INPUT0", "INPUT1"], outputs: ["OUTPUT1"] },
    ],
    inputs: [
      { name: "INPUT0", type, shape },
      { name: "INPUT1", type, shape },
    ],
    outputs: [
      { name: "OUTPUT0", type, shape },
      { name: "OUTPUT1", type, shape },
    ],
  });
}
