import { describe, expect, test } from "bun:test";
import { cutRows, rowCutter } from "../../../../src/core/scheduler/row-cutter.ts";
import { bytesInput } from "../../../support/validated-request.ts";

describe("cutting rows", () => {
  test("of fixed size gives each request its rows, as views", () => {
    const bytes = new Uint8Array(new Float32Array([1, 2, 3, 4, 5, 6]).buffer);
    const cutter = rowCutter({ index: 0, datatype: "FP32", shape: [3, 2], bytes }, false);
    const first = cutRows(cutter, 1);
    const rest = cutRows(cutter, 2);
    expect([first.shape, rest.shape]).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(first.bytes).toEqual(bytes.subarray(0, 8));
    expect(rest.bytes).toEqual(bytes.subarray(8));
    expect(rest.bytes.buffer).toBe(bytes.buffer);
  });

  test("of texts follows the length of each element", () => {
    const { bytes } = bytesInput("x", [3, 2], ["", "a", "bcd", "é", "f", "gh"]);
    const cutter = rowCutter({ index: 0, datatype: "BYTES", shape: [3, 2], bytes }, false);
    expect(cutRows(cutter, 2).bytes).toEqual(bytesInput("x", [2, 2], ["", "a", "bcd", "é"]).bytes);
    expect(cutRows(cutter, 1)).toEqual({
      shape: [1, 2],
      bytes: bytesInput("x", [1, 2], ["f", "gh"]).bytes,
    });
  });

  test("of a whole output gives it untouched, also without a batch dimension", () => {
    const bytes = new Uint8Array(4);
    const cutter = rowCutter({ index: 0, datatype: "FP32", shape: [], bytes }, true);
    expect(cutRows(cutter, 1)).toEqual({ shape: [], bytes });
  });

  test("of a text output that is cut short stops at its end", () => {
    const bytes = new Uint8Array([255, 0, 0, 0, 1]);
    const cutter = rowCutter({ index: 0, datatype: "BYTES", shape: [2, 1], bytes }, false);
    expect(cutRows(cutter, 1).bytes).toEqual(bytes);
    expect(cutRows(cutter, 1).bytes).toHaveLength(0);
  });
});
