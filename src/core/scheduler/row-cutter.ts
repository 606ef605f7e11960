import { elementBytesOf } from "../../base/datatype.ts";
import { elementCount, type Shape } from "../../base/shape.ts";
import type { JoinedOutput } from "../instance/model-instance.ts";

/** Walks along one joined output, cutting off the rows of one request after the other. */
export interface RowCutter {
  readonly output: JoinedOutput;
  /** The whole output belongs to the one request of the batch. */
  readonly isWhole: boolean;
  /** Elements of one row. */
  readonly rowElements: number;
  /** Bytes of one row; 0 for BYTES, whose elements carry their own length. */
  readonly rowBytes: number;
  offset: number;
}

/** Bytes of the length before each BYTES element. */
const LENGTH_BYTES = 4;

/** @param isWhole true where there is one request, or no batch dimension to cut along. */
export function rowCutter(output: JoinedOutput, isWhole: boolean): RowCutter {
  const rowElements = isWhole ? 0 : elementCount(output.shape.slice(1));
  const rowBytes = rowElements * elementBytesOf(output.datatype);
  return { output, isWhole, rowElements, rowBytes, offset: 0 };
}

/** The next `rows` rows: views, no copies. */
export function cutRows(
  cutter: RowCutter,
  rows: number,
): { readonly shape: Shape; readonly bytes: Uint8Array } {
  const { output } = cutter;
  if (cutter.isWhole) return { shape: output.shape, bytes: output.bytes };
  const start = cutter.offset;
  if (output.datatype === "BYTES") {
    cutter.offset = skipElements(output.bytes, start, rows * cutter.rowElements);
  } else {
    cutter.offset = start + rows * cutter.rowBytes;
  }
  return {
    shape: [rows, ...output.shape.slice(1)],
    bytes: output.bytes.subarray(start, cutter.offset),
  };
}

function skipElements(bytes: Uint8Array, start: number, count: number): number {
  let at = start;
  for (let i = 0; i < count && at + LENGTH_BYTES <= bytes.length; i++) {
    const length =
      (bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24);
    at += LENGTH_BYTES + (length >>> 0);
  }
  return Math.min(at, bytes.length);
}
