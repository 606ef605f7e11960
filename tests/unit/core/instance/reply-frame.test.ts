import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { OutputArea } from "../../../../src/core/instance/output-area.ts";
import {
  ALL_REQUESTS,
  type Reply,
  ReplyFrameReader,
  ReplyFrameWriter,
  type ReplyOutput,
} from "../../../../src/core/instance/reply-frame.ts";
import type { Slab } from "../../../../src/core/memory/slab.ts";
import type { Parameters } from "../../../../src/core/request/request-signature.ts";
import { HeapSlabs } from "../../../support/heap-slabs.ts";

/** Both ends of one slot's output area. */
class Line {
  readonly slabs = new HeapSlabs();
  attached: readonly Slab[] = [];
  announcementCount = 0;
  readonly area = new OutputArea(this.slabs, (handles) => {
    this.attached = handles.map((handle) => this.slabs.attach(handle));
    this.announcementCount += 1;
  });
  readonly writer = new ReplyFrameWriter();
  readonly reader = new ReplyFrameReader();

  /** Puts out tensors filled with their index, and sends the reply. */
  send(byteLengths: readonly number[], reply: Partial<Reply> = {}) {
    this.area.reset();
    const outputs = byteLengths.map((byteLength, index): ReplyOutput => {
      const { slabIndex, offsetBytes, slab } = this.area.allocate(byteLength);
      slab.bytes.fill(index + 1, offsetBytes, offsetBytes + byteLength);
      return {
        index,
        datatype: "UINT8",
        shape: [1, byteLength],
        slabIndex,
        offsetBytes,
        byteLength,
      };
    });
    this.writer.write(this.area, {
      outputs,
      errors: new Map(),
      parameters: new Map(),
      computeInputNs: 1,
      computeInferNs: 2,
      computeOutputNs: 3,
      ...reply,
    });
    return this.reader.read(this.attached);
  }
}

describe("reply frame", () => {
  test("a reply reads back as it was written", () => {
    const result = new Line().send([3, 0, 100]);
    expect(result.error).toBeUndefined();
    expect(result.outputs.map(({ index, datatype, shape }) => [index, datatype, shape])).toEqual([
      [0, "UINT8", [1, 3]],
      [1, "UINT8", [1, 0]],
      [2, "UINT8", [1, 100]],
    ]);
    expect(result.outputs.map(({ bytes }) => [...new Set(bytes)])).toEqual([[1], [], [3]]);
    expect([result.computeInputNs, result.computeInferNs, result.computeOutputNs]).toEqual([
      1, 2, 3,
    ]);
    expect(result.requestErrors.size).toBe(0);
    expect(result.sharedParameters.size).toBe(0);
  });

  test("errors of single requests keep code, reason and text", () => {
    const errors = new Map([
      [4, new InferenceError("INVALID_ARG", "zu groß: ≥ 5", { reason: "BACKEND" })],
      [0, new InferenceError("CANCELLED", "", { reason: "CANCELED" })],
    ]);
    const result = new Line().send([8], { errors });
    expect(result.error).toBeUndefined();
    const seen = [...result.requestErrors].map(([i, e]) => [i, e.code, e.reason, e.message]);
    expect(seen).toEqual([
      [4, "INVALID_ARG", "BACKEND", "zu groß: ≥ 5"],
      [0, "CANCELLED", "CANCELED", ""],
    ]);
  });

  test("the error of the whole batch stands apart", () => {
    const error = new InferenceError("INTERNAL", "no more", { reason: "BACKEND" });
    const result = new Line().send([], { errors: new Map([[ALL_REQUESTS, error]]) });
    expect([result.error?.code, result.error?.message]).toEqual(["INTERNAL", "no more"]);
  });

  test("parameters of all requests and of single ones, and the same object for the same bytes", () => {
    const line = new Line();
    const own: Parameters = new Map([["n", { kind: "int64", value: -(2n ** 63n) }]]);
    const shared: Parameters = new Map([
      ["s", { kind: "string", value: "ü" }],
      ["b", { kind: "bool", value: true }],
      ["d", { kind: "double", value: 0.1 }],
    ]);
    const both = line.send([], {
      parameters: new Map([
        [ALL_REQUESTS, shared],
        [2, own],
      ]),
    });
    expect([...both.sharedParameters]).toEqual([...shared]);
    expect([...(both.requestParameters.get(2) ?? [])]).toEqual([...own]);
    const first = line.send([], { parameters: new Map([[ALL_REQUESTS, shared]]) });
    const second = line.send([], { parameters: new Map([[ALL_REQUESTS, shared]]) });
    expect(second.sharedParameters).toBe(first.sharedParameters);
  });

  test("outputs that do not fit get a slab more without moving, then all have one slab", () => {
    const line = new Line();
    for (const byteLengths of [[100], [10_000, 50_000, 3, 200_000], [9, 100_000], [5]]) {
      const result = line.send(byteLengths);
      expect(result.outputs.map(({ bytes }) => bytes.length)).toEqual(byteLengths);
      for (const [i, { bytes }] of result.outputs.entries()) {
        expect(bytes.every((byte) => byte === i + 1)).toBe(true);
      }
    }
    expect(line.attached.length).toBe(1);
    expect(line.slabs.liveCount).toBe(1);
  });

  test("slabs are announced only when they change", () => {
    const line = new Line();
    for (let i = 0; i < 10; i++) line.send([1000, 500]);
    expect(line.announcementCount).toBe(1);
  });

  test("a giant's slab is given back after a while", () => {
    const line = new Line();
    line.send([20_000_000]);
    for (let i = 0; i < 40; i++) line.send([1000]);
    expect(line.attached[0]?.byteLength).toBeLessThan(100_000);
    expect(line.slabs.liveCount).toBe(1);
    line.area.dispose();
    expect(line.slabs.liveCount).toBe(0);
  });

  test("a reply that points outside its slab is refused", () => {
    const line = new Line();
    const output: ReplyOutput = {
      index: 0,
      datatype: "UINT8",
      shape: [1, 9_999_999],
      slabIndex: 0,
      offsetBytes: 64,
      byteLength: 9_999_999,
    };
    expect(() => line.send([], { outputs: [output] })).toThrow("ends at byte 10000063");
  });
});
