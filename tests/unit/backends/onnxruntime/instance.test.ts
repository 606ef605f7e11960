import { describe, expect, test } from "bun:test";
import { terminateRun } from "#ffi/onnxruntime/terminate-run.ts";
import { InferenceError } from "../../../../src/base/error.ts";
import type { BackendInstance } from "../../../../src/core/backend/backend-instance.ts";
import { OnnxBackendSetup } from "../../../support/onnx-backend.ts";
import { addSubModel, identityModel, onnxModel } from "../../../support/onnx-model.ts";
import { onnxruntimeOrSkip } from "../../../support/onnxruntime-library.ts";
import { packBytes, unpackBytes } from "../../../support/sample-models.ts";
import { TestBatch, type TestInput } from "../../../support/test-batch.ts";

const found = await onnxruntimeOrSkip("instances of the onnxruntime backend");

function int64s(index: number, shape: readonly number[], values: readonly number[]): TestInput {
  const bytes = new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
  return { index, datatype: "INT64", shape, bytes };
}

function floats(index: number, shape: readonly number[], values: readonly number[]): TestInput {
  return { index, datatype: "FP32", shape, bytes: new Uint8Array(new Float32Array(values).buffer) };
}

function valuesOf(batch: TestBatch, index = 0): number[] {
  const { datatype, bytes } = batch.output(index);
  const { buffer } = bytes.slice();
  return datatype === "INT64"
    ? [...new BigInt64Array(buffer)].map(Number)
    : [...new Float32Array(buffer)];
}

function run(
  instance: BackendInstance,
  inputs: readonly TestInput[],
  wanted: readonly number[] = [0],
  rows?: readonly number[],
): TestBatch {
  const batch = new TestBatch(inputs, wanted, rows);
  instance.execute(batch);
  return batch;
}

function failureOf(action: () => unknown): InferenceError {
  try {
    action();
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** Indexes of the elements that are not zero: an output whose size only the run can tell. */
const NON_ZERO = onnxModel({
  nodes: [{ operator: "NonZero", inputs: ["X"], outputs: ["Y"] }],
  inputs: [{ name: "X", type: "FP32", shape: ["n"] }],
  outputs: [{ name: "Y", type: "INT64", shape: [1, "found"] }],
});

/** The names of its dimensions promise as many rows as went in; there are twice as many. */
const LIAR = onnxModel({
  nodes: [
    { operator: "Concat", inputs: ["X", "X"], outputs: ["Y"], attributes: { axis: 0 } },
    { operator: "Identity", inputs: ["X"], outputs: ["Z"] },
  ],
  inputs: [{ name: "X", type: "FP32", shape: ["n"] }],
  outputs: [
    { name: "Y", type: "FP32", shape: ["n"] },
    { name: "Z", type: "FP32", shape: ["n"] },
  ],
});

describe.skipIf(found === undefined)("an instance", () => {
  test("writes into the slab whenever the shape is known before the run", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(addSubModel("FP32", ["n"]));
    const inputs = [floats(0, [2], [1, 2]), floats(1, [2], [10, 20])];
    const batch = run(instance, inputs, [0, 1]);
    expect(batch.calls).toEqual(["allocate 0", "allocate 1", "start", "end"]);
    expect([valuesOf(batch, 0), valuesOf(batch, 1)]).toEqual([
      [11, 22],
      [-9, -18],
    ]);
  });

  test("makes only the outputs that are wanted", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(addSubModel("FP32", ["n"]));
    const batch = run(instance, [floats(0, [1], [3]), floats(1, [1], [1])], [1]);
    expect([...batch.outputs.keys()]).toEqual([1]);
    expect(valuesOf(batch, 1)).toEqual([2]);
  });

  test("copies outputs whose size the run alone can tell, empty ones included", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(NON_ZERO);
    const some = run(instance, [floats(0, [4], [0, 5, 0, 6])]);
    expect(some.calls).toEqual(["start", "end", "allocate 0"]);
    expect([some.output(0).shape, valuesOf(some)]).toEqual([
      [1, 2],
      [1, 3],
    ]);
    const none = run(instance, [floats(0, [2], [0, 0])]);
    expect([none.output(0).shape, valuesOf(none)]).toEqual([[1, 0], []]);
    const empty = run(instance, [floats(0, [0], [])]);
    expect(empty.output(0).shape).toEqual([1, 0]);
  });

  test("finds out a graph that breaks the promise of its dimension names, and remembers", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(LIAR);
    const first = run(instance, [floats(0, [2], [1, 2])], [0, 1]);
    expect([first.output(0).shape, valuesOf(first)]).toEqual([[4], [1, 2, 1, 2]]);
    expect(valuesOf(first, 1)).toEqual([1, 2]);
    const second = run(instance, [floats(0, [1], [7])]);
    expect(second.calls).toEqual(["start", "end", "allocate 0"]);
    expect(valuesOf(second)).toEqual([7, 7]);
  });

  test("refuses outputs that have not a row for each row of the batch", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(LIAR, { maxBatchSize: 8 });
    const error = failureOf(() => run(instance, [floats(0, [3], [1, 2, 3])], [0], [1, 2]));
    expect([error.code, error.reason]).toEqual(["INTERNAL", "BACKEND"]);
    expect(error.message).toBe(
      "model 'm': failed to split the output tensor 'Y' in responses: expected batch size of 3 in model output, " +
        "got shape [6]",
    );
  });

  test("gives a graph's scalar one element, or none where the configuration has none", async () => {
    using setup = await OnnxBackendSetup.create();
    const model = onnxModel({
      nodes: [{ operator: "Add", inputs: ["X", "X"], outputs: ["Y"] }],
      inputs: [{ name: "X", type: "FP32", shape: [] }],
      outputs: [{ name: "Y", type: "FP32", shape: [] }],
    });
    const one = [1];
    const signature = {
      inputs: [{ name: "X", datatype: "FP32", shape: one }],
      outputs: [{ name: "Y", datatype: "FP32", shape: one }],
    } as const;
    const batch = run(await setup.instance(model, signature), [floats(0, one, [21])]);
    expect([batch.output(0).shape, valuesOf(batch)]).toEqual([[1], [42]]);
    const bare = run(await setup.instance(model), [floats(0, [], [4])]);
    expect([bare.output(0).shape, valuesOf(bare)]).toEqual([[], [8]]);
  });

  test("answers strings of computed shapes", async () => {
    using setup = await OnnxBackendSetup.create();
    const model = onnxModel({
      nodes: [{ operator: "Concat", inputs: ["X", "X"], outputs: ["Y"], attributes: { axis: 0 } }],
      inputs: [{ name: "X", type: "BYTES", shape: [-1] }],
      outputs: [{ name: "Y", type: "BYTES", shape: [-1] }],
    });
    const instance = await setup.instance(model);
    const bytes = packBytes(["ä\0", ""]);
    const { shape, bytes: answer } = run(instance, [
      { index: 0, datatype: "BYTES", shape: [2], bytes },
    ]).output(0);
    expect(shape).toEqual([4]);
    const texts = unpackBytes(answer).map((one) => new TextDecoder().decode(one));
    expect(texts).toEqual(["ä\0", "", "ä\0", ""]);
  });

  test("says in onnxruntime's words why a run failed, and goes on", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(
      onnxModel({
        nodes: [{ operator: "Gather", inputs: ["table", "X"], outputs: ["Y"] }],
        inputs: [{ name: "X", type: "INT64", shape: ["n"] }],
        outputs: [{ name: "Y", type: "INT64", shape: ["n"] }],
        initializers: [{ name: "table", type: "INT64", shape: [2], data: new Uint8Array(16) }],
      }),
    );
    const error = failureOf(() => run(instance, [int64s(0, [1], [5])]));
    expect([error.code, error.reason]).toEqual(["INTERNAL", "BACKEND"]);
    expect(error.message).toStartWith("onnx runtime error 2: ");
    expect(error.message).toContain("indices element out of data bounds");
    expect(valuesOf(run(instance, [int64s(0, [2], [0, 1])]))).toEqual([0, 0]);
  });

  test("forgets a request to stop that came between two batches", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(identityModel("FP32", ["n"]));
    terminateRun(instance.cancelHandle ?? 0);
    expect(valuesOf(run(instance, [floats(0, [1], [3])]))).toEqual([3]);
  });

  test("stays as it is over 100,000 runs", async () => {
    using setup = await OnnxBackendSetup.create();
    const instance = await setup.instance(addSubModel("FP32", ["n"]));
    const batches = [1, 5, 16].map(
      (n) =>
        new TestBatch(
          [0, 1].map((i) => floats(i, [n], new Array(n).fill(i))),
          [0, 1],
        ),
    );
    // Each batch has new places for its outputs, so the cache of values turns over too.
    const cycle = () => {
      for (const batch of batches) {
        batch.calls.length = 0;
        instance.execute(batch);
      }
    };
    for (let i = 0; i < 5_000; i++) cycle();
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 33_334; i++) cycle();
    Bun.gc(true);
    // The process has run other tests: their pages come and go. A lost value a run would be 60 MB and more.
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * 1024 * 1024);
  }, 60_000);
});
