import { describe, expect, test } from "bun:test";
import { readBatchFrame, writeBatchFrame } from "../../../../src/core/instance/batch-frame.ts";
import { HeapSlabs } from "../../../support/heap-slabs.ts";
import { sampleConfig, sampleSignature } from "../../../support/sample-config.ts";
import {
  batchOf,
  bytesInput,
  fp32Input,
  validatedRequest,
} from "../../../support/validated-request.ts";

const config = sampleConfig({
  maxBatchSize: 8,
  inputs: [
    { name: "A", datatype: "FP32", dims: [2] },
    { name: "B", datatype: "BYTES", dims: [-1], isOptional: true },
  ],
  outputs: [
    { name: "X", datatype: "FP32", dims: [2] },
    { name: "Y", datatype: "FP32", dims: [2] },
    { name: "Z", datatype: "FP32", dims: [2] },
  ],
});
const signature = sampleSignature(config);

function request(rows: number, outputs: readonly string[] = [], texts?: readonly string[]) {
  const values = Array.from({ length: rows * 2 }, (_, i) => rows * 100 + i);
  const inputs = [fp32Input("A", [rows, 2], values)];
  if (texts) inputs.push(bytesInput("B", [rows, texts.length / rows], texts));
  const wanted = outputs.map((name) => ({ name, classificationCount: 0 }));
  return validatedRequest(config, inputs, { outputs: wanted });
}

describe("batch frame", () => {
  test("a frame reads back as it was written, inputs joined at aligned offsets", () => {
    const slab = new HeapSlabs().allocate(65536);
    const batch = batchOf(request(1, [], ["a", "bc"]), request(2, [], ["", "d", "e", "f"]));
    const neededBytes = writeBatchFrame(slab, batch, signature);
    expect(neededBytes).toBeLessThanOrEqual(slab.byteLength);
    const frame = readBatchFrame(slab.words);
    expect(frame.rowCount).toBe(3);
    expect(frame.requestRows).toEqual([1, 2]);
    expect(frame.wantedOutputs).toEqual([0, 1, 2]);
    expect(frame.inputs.map(({ index, datatype, shape }) => [index, datatype, shape])).toEqual([
      [0, "FP32", [3, 2]],
      [1, "BYTES", [3, 2]],
    ]);
    for (const [i, input] of frame.inputs.entries()) {
      expect(input.offsetBytes % 64).toBe(0);
      const joined = Buffer.concat(
        batch.requests.map(({ inputBytes }) => inputBytes[i] ?? new Uint8Array(0)),
      );
      const written = slab.bytes.subarray(input.offsetBytes, input.offsetBytes + input.byteLength);
      expect(Buffer.compare(written, joined)).toBe(0);
    }
  });

  test("what the scheduler adds is joined like the requests' own inputs, and its outputs are wanted", () => {
    const slab = new HeapSlabs().allocate(65536);
    const withControl = {
      ...signature,
      inputs: [...signature.inputs, { name: "READY", datatype: "INT32" as const, shape: [-1, 1] }],
    };
    const bytes = [new Uint8Array([1, 0, 0, 0]), new Uint8Array([0, 0, 0, 0])];
    const extras = { inputs: [{ index: 2, shape: [1, 1], bytes }], outputIndexes: [2] };
    const batch = { ...batchOf(request(1, ["X"]), request(1, ["X"])), extras };
    const neededBytes = writeBatchFrame(slab, batch, withControl);
    const frame = readBatchFrame(slab.words);
    expect(frame.wantedOutputs).toEqual([0, 2]);
    expect(frame.inputs.map(({ index, datatype, shape }) => [index, datatype, shape])).toEqual([
      [0, "FP32", [2, 2]],
      [2, "INT32", [2, 1]],
    ]);
    const ready = frame.inputs[1];
    expect(ready && [...slab.bytes.subarray(ready.offsetBytes, ready.offsetBytes + 8)]).toEqual([
      1, 0, 0, 0, 0, 0, 0, 0,
    ]);
    const small = new HeapSlabs().allocate(576);
    expect(writeBatchFrame(small, batch, withControl)).toBeGreaterThanOrEqual(neededBytes);
  });

  test("an absent optional input is not in the frame", () => {
    const slab = new HeapSlabs().allocate(65536);
    writeBatchFrame(slab, batchOf(request(2)), signature);
    expect(readBatchFrame(slab.words).inputs.map(({ index }) => index)).toEqual([0]);
  });

  test("outputs are wanted when any request wants them", () => {
    const slab = new HeapSlabs().allocate(65536);
    writeBatchFrame(slab, batchOf(request(1, ["Z"]), request(1, ["X", "Z"])), signature);
    expect(readBatchFrame(slab.words).wantedOutputs).toEqual([0, 2]);
    writeBatchFrame(slab, batchOf(request(1, ["Z"]), request(1)), signature);
    expect(readBatchFrame(slab.words).wantedOutputs).toEqual([0, 1, 2]);
  });

  test("a slab that is too small is told by how much, and that much is enough", () => {
    const slabs = new HeapSlabs();
    const batch = batchOf(
      request(1, [], ["x".repeat(3000), "y"]),
      request(7, [], Array(7).fill("z")),
    );
    for (const byteLength of [64, 512, 600, 3000]) {
      const neededBytes = writeBatchFrame(slabs.allocate(byteLength), batch, signature);
      expect(neededBytes).toBeGreaterThan(byteLength);
      const large = slabs.allocate(neededBytes);
      expect(writeBatchFrame(large, batch, signature)).toBeLessThanOrEqual(neededBytes);
      expect(readBatchFrame(large.words).inputs.length).toBe(2);
    }
  });

  test("many requests push the tensors behind the frame", () => {
    const slab = new HeapSlabs().allocate(65536);
    const wide = sampleConfig({
      maxBatchSize: 512,
      inputs: [{ name: "A", datatype: "FP32", dims: [1] }],
    });
    const one = validatedRequest(wide, [fp32Input("A", [1, 1], [7])]);
    const batch = batchOf(...Array.from({ length: 500 }, () => one));
    writeBatchFrame(slab, batch, sampleSignature(wide));
    const frame = readBatchFrame(slab.words);
    expect(frame.inputs[0]?.offsetBytes).toBeGreaterThanOrEqual(508 * 8);
    expect(frame.requestRows).toEqual(Array.from({ length: 500 }, () => 1));
  });

  test("a frame of another version is refused with both versions", () => {
    const slab = new HeapSlabs().allocate(1024);
    slab.words[0] = 77;
    expect(() => readBatchFrame(slab.words)).toThrow("version 77, this host reads 2");
  });
});
