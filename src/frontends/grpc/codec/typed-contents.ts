import type { InferTensorContents } from "#gen/inference/grpc_service_pb.ts";
import type { Datatype } from "../../../base/datatype.ts";
import { elementBytesOf } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";

/** The repeated fields of InferTensorContents, each with its name on the wire. */
const FIELD_NAMES = {
  boolContents: "bool_contents",
  intContents: "int_contents",
  int64Contents: "int64_contents",
  uintContents: "uint_contents",
  uint64Contents: "uint64_contents",
  fp32Contents: "fp32_contents",
  fp64Contents: "fp64_contents",
  bytesContents: "bytes_contents",
} as const;

type Field = keyof typeof FIELD_NAMES;

const FIELDS = Object.keys(FIELD_NAMES) as readonly Field[];

/** Which field carries a datatype; FP16 and BF16 have no typed form. */
const FIELD_OF: Readonly<Record<Datatype, Field | undefined>> = {
  BOOL: "boolContents",
  UINT8: "uintContents",
  UINT16: "uintContents",
  UINT32: "uintContents",
  UINT64: "uint64Contents",
  INT8: "intContents",
  INT16: "intContents",
  INT32: "intContents",
  INT64: "int64Contents",
  FP16: undefined,
  FP32: "fp32Contents",
  FP64: "fp64Contents",
  BYTES: "bytesContents",
  BF16: undefined,
};

const LENGTH_BYTES = 4;

function packStrings(elements: readonly Uint8Array[]): Uint8Array {
  let byteCount = 0;
  for (const element of elements) byteCount += LENGTH_BYTES + element.length;
  const bytes = new Uint8Array(byteCount);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const element of elements) {
    view.setUint32(at, element.length, true);
    bytes.set(element, at + LENGTH_BYTES);
    at += LENGTH_BYTES + element.length;
  }
  return bytes;
}

function packNumbers(
  contents: InferTensorContents,
  datatype: Datatype,
  byteCount: number,
): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  const { buffer } = bytes;
  // A typed array takes the low bits of an integer that does not fit, as Triton does.
  switch (datatype) {
    case "BOOL":
      bytes.set(contents.boolContents.map(Number));
      break;
    case "UINT8":
      bytes.set(contents.uintContents);
      break;
    case "UINT16":
      new Uint16Array(buffer).set(contents.uintContents);
      break;
    case "UINT32":
      new Uint32Array(buffer).set(contents.uintContents);
      break;
    case "UINT64":
      new BigUint64Array(buffer).set(contents.uint64Contents);
      break;
    case "INT8":
      new Int8Array(buffer).set(contents.intContents);
      break;
    case "INT16":
      new Int16Array(buffer).set(contents.intContents);
      break;
    case "INT32":
      new Int32Array(buffer).set(contents.intContents);
      break;
    case "INT64":
      new BigInt64Array(buffer).set(contents.int64Contents);
      break;
    case "FP32":
      new Float32Array(buffer).set(contents.fp32Contents);
      break;
    default:
      new Float64Array(buffer).set(contents.fp64Contents);
  }
  return bytes;
}

/**
 * Turns the typed `contents` of an input into the raw form: little-endian, BYTES elements with their length before
 * them. Whether the number of elements fits the shape is for the core to say.
 *
 * @throws InferenceError INVALID_ARG when another field than the datatype's is filled, or the datatype has none.
 * @see Triton, grpc_service.proto, InferTensorContents.
 */
export function bytesFromContents(
  contents: InferTensorContents,
  datatype: Datatype,
  inputName: string,
  modelName: string,
): Uint8Array {
  const right = FIELD_OF[datatype];
  const wrong = FIELDS.find((field) => field !== right && contents[field].length > 0);
  if (wrong !== undefined || right === undefined) {
    const expected =
      right === undefined
        ? "that datatype travels in raw_input_contents only"
        : `expected ${FIELD_NAMES[right]} alone, found ${FIELD_NAMES[wrong ?? right]}`;
    throw new InferenceError(
      "INVALID_ARG",
      `unexpected explicit tensor data for input tensor '${inputName}' for model '${modelName}' of type ` +
        `'${datatype}': ${expected}`,
    );
  }
  if (datatype === "BYTES") return packStrings(contents.bytesContents);
  return packNumbers(contents, datatype, contents[right].length * elementBytesOf(datatype));
}
