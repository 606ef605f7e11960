import { expect, test } from "bun:test";
import type { ElementType } from "#ffi/onnxruntime/element-type.ts";
import type { GraphTensor } from "#ffi/onnxruntime/session.ts";
import { outputShapes } from "../../../../src/backends/onnxruntime/output-shapes.ts";
import type { BatchInputTensor } from "../../../../src/core/backend/backend-instance.ts";

function graphTensor(
  name: string,
  dims: readonly (number | string)[] | undefined,
  elementType: ElementType = "float32",
): GraphTensor {
  const dimensions = dims?.map((dim) =>
    typeof dim === "string" ? { length: -1, symbol: dim } : { length: dim, symbol: "" },
  );
  return { name, kind: "tensor", elementType, dimensions };
}

function input(index: number, shape: readonly number[]): BatchInputTensor {
  return { index, datatype: "FP32", shape, bytes: new Uint8Array(0), byteLength: 0, address: 0 };
}

/** Predicts the one output Y of a graph with inputs A and B. */
function predict(output: GraphTensor, maxBatchSize = 0) {
  const inputs = [graphTensor("A", ["batch", "width", 3]), graphTensor("B", ["batch", "height"])];
  const named = ({ name }: GraphTensor) => ({ name, datatype: "FP32" as const, shape: [] });
  const [shape] = outputShapes(
    { inputs, outputs: [output] },
    { inputs: inputs.map(named), outputs: [named(output)], maxBatchSize },
  );
  return (
    given: readonly (BatchInputTensor | undefined)[] = [input(0, [5, 6, 3]), input(1, [5, 7])],
  ) => shape?.(given, 5);
}

test("fixed dimensions and those that an input names alike are known", () => {
  expect(predict(graphTensor("Y", [2, 3]))()).toEqual([2, 3]);
  expect(predict(graphTensor("Y", ["batch", "height", "width"]))()).toEqual([5, 7, 6]);
  expect(predict(graphTensor("Y", []))()).toEqual([]);
});

test("the first dimension of a model that batches is the number of rows, whatever its name", () => {
  expect(predict(graphTensor("Y", [-1, 4]), 8)()).toEqual([5, 4]);
  expect(predict(graphTensor("Y", ["other", 4]), 8)()).toEqual([5, 4]);
});

test("a dimension without a name, or with a name of its own, is for the run to tell", () => {
  expect(predict(graphTensor("Y", [-1, 4]))()).toBeUndefined();
  expect(predict(graphTensor("Y", ["batch", "found"]))()).toBeUndefined();
  expect(predict(graphTensor("Y", [-1, -1]), 8)()).toBeUndefined();
});

test("free rank and strings are for the run to tell", () => {
  expect(predict(graphTensor("Y", undefined))()).toBeUndefined();
  expect(predict(graphTensor("Y", [2], "string"))()).toBeUndefined();
  expect(predict({ ...graphTensor("Y", [2]), kind: "sequence" })()).toBeUndefined();
});

test("a name that only an absent input gives is not known in that batch", () => {
  const shape = predict(graphTensor("Y", ["height"]));
  expect(shape([input(0, [5, 6, 3]), undefined])).toBeUndefined();
  expect(shape()).toEqual([7]);
});

test("batches of the same shape get the same array", () => {
  const shape = predict(graphTensor("Y", ["batch", "height"]));
  const first = shape();
  expect(shape()).toBe(first);
  expect(shape([undefined, input(1, [5, 8])])).toBeUndefined();
  expect(shape([input(0, [5, 6, 3]), input(1, [5, 8])])).toEqual([5, 8]);
  expect(first).toEqual([5, 7]);
});
