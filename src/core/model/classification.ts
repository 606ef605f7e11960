import type { Datatype } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { formatSixDecimals } from "./format-six-decimals.ts";
import { greatestIndexes } from "./greatest-indexes.ts";

/** Triton's limit on the elements of one batch row. */
const MAX_ROW_ELEMENTS = 1_000_000;

/** How the elements of one datatype are read, compared and printed. */
interface ElementReader {
  read(view: DataView, index: number): number | bigint;
  print(value: number | bigint): string;
}

const asInteger = (value: number | bigint): string => String(value);
const asFloat = (value: number | bigint): string => formatSixDecimals(Number(value));

const READERS: Partial<Record<Datatype, ElementReader>> = {
  UINT8: { read: (view, i) => view.getUint8(i), print: asInteger },
  UINT16: { read: (view, i) => view.getUint16(i * 2, true), print: asInteger },
  UINT32: { read: (view, i) => view.getUint32(i * 4, true), print: asInteger },
  UINT64: { read: (view, i) => view.getBigUint64(i * 8, true), print: asInteger },
  INT8: { read: (view, i) => view.getInt8(i), print: asInteger },
  INT16: { read: (view, i) => view.getInt16(i * 2, true), print: asInteger },
  INT32: { read: (view, i) => view.getInt32(i * 4, true), print: asInteger },
  INT64: { read: (view, i) => view.getBigInt64(i * 8, true), print: asInteger },
  FP32: { read: (view, i) => view.getFloat32(i * 4, true), print: asFloat },
  FP64: { read: (view, i) => view.getFloat64(i * 8, true), print: asFloat },
};

/** Whether the classification extension knows an order for a datatype: integers, FP32 and FP64. */
export function isClassifiable(datatype: Datatype): boolean {
  return READERS[datatype] !== undefined;
}

/** What {@link classify} needs beside the tensor. */
export interface ClassificationOptions {
  /** Classes wanted of each row, at least 1; a row with fewer elements gives all. */
  readonly classCount: number;
  /** Whether the first dimension is the batch; otherwise all elements are one row. */
  readonly hasBatchDimension: boolean;
  /** Class names by index within a row. */
  readonly labels?: readonly string[] | undefined;
}

/**
 * The classification extension: in place of a tensor its greatest elements, row by row, each as the text
 * `value:index` or `value:index:label`, greatest first, equal ones by ascending index, NaN last.
 *
 * @returns a BYTES tensor `[batch, k]`, or `[k]` without a batch dimension; its bytes are the caller's own.
 * @throws InferenceError INVALID_ARG for a datatype without order or a row of more than 1,000,000 elements.
 * @see Triton docs, "Classification Extension".
 */
export function classify(tensor: Tensor, options: ClassificationOptions): Tensor {
  const reader = READERS[tensor.datatype];
  if (reader === undefined) {
    throw new InferenceError(
      "INVALID_ARG",
      `class result not available for output '${tensor.name}' due to unsupported type ` +
        `'${tensor.datatype}'`,
    );
  }
  const [rowCount, rowElements] = rowsOf(tensor, options.hasBatchDimension);
  if (rowElements > MAX_ROW_ELEMENTS) {
    throw new InferenceError(
      "INVALID_ARG",
      `class result not available for output '${tensor.name}': a row has ${rowElements} elements, ` +
        `at most ${MAX_ROW_ELEMENTS} are allowed`,
    );
  }
  const classCount = Math.min(options.classCount, rowElements);
  const { bytes } = tensor;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let row = 0; row < rowCount; row++) {
    const first = row * rowElements;
    const values = Array.from({ length: rowElements }, (_, i) => reader.read(view, first + i));
    for (const index of greatestIndexes(values, classCount)) {
      const label = options.labels?.[index];
      const text = `${reader.print(values[index] ?? 0)}:${index}`;
      texts.push(label === undefined || label === "" ? text : `${text}:${label}`);
    }
  }
  return {
    name: tensor.name,
    datatype: "BYTES",
    shape: options.hasBatchDimension ? [rowCount, classCount] : [classCount],
    bytes: bytesTensorFrom(texts),
  };
}

/** Number of rows and elements of each. */
function rowsOf(tensor: Tensor, hasBatchDimension: boolean): readonly [number, number] {
  const rowCount = hasBatchDimension ? (tensor.shape[0] ?? 1) : 1;
  const rowShape = hasBatchDimension ? tensor.shape.slice(1) : tensor.shape;
  return [rowCount, rowShape.reduce((product, dim) => product * dim, 1)];
}

const encoder = new TextEncoder();

function bytesTensorFrom(texts: readonly string[]): Uint8Array {
  const elements = texts.map((text) => encoder.encode(text));
  const bytes = new Uint8Array(elements.reduce((sum, element) => sum + 4 + element.length, 0));
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const element of elements) {
    view.setUint32(offset, element.length, true);
    bytes.set(element, offset + 4);
    offset += 4 + element.length;
  }
  return bytes;
}
