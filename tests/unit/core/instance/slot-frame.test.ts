import { expect, test } from "bun:test";
import { writeBatchFrame } from "../../../../src/core/instance/batch-frame.ts";
import { SlotFrame } from "../../../../src/core/instance/slot-frame.ts";
import { HeapSlabs } from "../../../support/heap-slabs.ts";
import { sampleConfig, sampleSignature } from "../../../support/sample-config.ts";
import {
  batchOf,
  fp32Input,
  fp32Values,
  validatedRequest,
} from "../../../support/validated-request.ts";

const config = sampleConfig({
  maxBatchSize: 8,
  inputs: [{ name: "INPUT0", datatype: "FP32", dims: [-1] }],
  outputs: [{ name: "OUTPUT0", datatype: "FP32", dims: [-1] }],
});

function batch(...rows: number[][]) {
  return batchOf(
    ...rows.map((row) => validatedRequest(config, [fp32Input("INPUT0", [1, row.length], row)])),
  );
}

test("like frames give the same object, whose views show the new bytes", () => {
  const slab = new HeapSlabs().allocate(4096);
  const slot = new SlotFrame(slab);
  writeBatchFrame(slab, batch([1, 2]), sampleSignature(config));
  const first = slot.read();
  expect(fp32Values(first.inputs[0]?.bytes)).toEqual([1, 2]);
  writeBatchFrame(slab, batch([3, 4]), sampleSignature(config));
  expect(slot.read()).toBe(first);
  expect(fp32Values(first.inputs[0]?.bytes)).toEqual([3, 4]);
});

test("a frame of other rows or another shape is read anew, also when it is longer", () => {
  const slab = new HeapSlabs().allocate(4096);
  const slot = new SlotFrame(slab);
  const shapes = [batch([1]), batch([1, 2]), batch([1], [2]), batch([1])].map((one) => {
    writeBatchFrame(slab, one, sampleSignature(config));
    const { rowCount, requestRows, inputs } = slot.read();
    return [rowCount, requestRows.length, inputs[0]?.shape, inputs[0]?.byteLength];
  });
  expect(shapes).toEqual([
    [1, 1, [1, 1], 4],
    [1, 1, [1, 2], 8],
    [2, 2, [2, 1], 8],
    [1, 1, [1, 1], 4],
  ]);
});
