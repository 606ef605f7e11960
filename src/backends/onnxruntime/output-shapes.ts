import type { GraphTensor } from "#ffi/onnxruntime/session.ts";
import type { Shape } from "../../base/shape.ts";
import type { BatchInputTensor } from "../../core/backend/backend-instance.ts";
import type { ExecutionSignature } from "../../core/backend/backend-model.ts";

/** Where the length of one dimension comes from. */
type DimensionSource =
  | { readonly from: "graph"; readonly length: number }
  | { readonly from: "rows" }
  | { readonly from: "input"; readonly input: number; readonly dimension: number };

/** What {@link outputShapes} needs of a graph. */
export interface OutputShapesGraph {
  readonly inputs: readonly GraphTensor[];
  readonly outputs: readonly GraphTensor[];
}

/** Tells the shape of one output before the run; undefined where only the run can tell. */
export type OutputShape = (inputs: InputLookup, rowCount: number) => Shape | undefined;

/** Inputs of a batch by their index in the signature; undefined where one is absent. */
export type InputLookup = readonly (BatchInputTensor | undefined)[];

/**
 * For each output of the signature, how its shape follows from a batch: from fixed dimensions, from the number of rows
 * where the model batches, and from free dimensions that an input names alike. Such names are the graph's promise; a
 * run whose promise was broken fails, see OnnxInstance.
 */
export function outputShapes(
  graph: OutputShapesGraph,
  signature: ExecutionSignature,
): readonly OutputShape[] {
  const lengthBySymbol = new Map<string, DimensionSource>();
  signature.inputs.forEach(({ name }, input) => {
    const dimensions = graph.inputs.find((tensor) => tensor.name === name)?.dimensions ?? [];
    dimensions.forEach(({ symbol }, dimension) => {
      if (symbol !== "" && !lengthBySymbol.has(symbol)) {
        lengthBySymbol.set(symbol, { from: "input", input, dimension });
      }
    });
  });
  return signature.outputs.map(({ name }) => {
    const tensor = graph.outputs.find((output) => output.name === name);
    const sources = tensor?.dimensions?.map(
      ({ length, symbol }, i): DimensionSource | undefined => {
        if (length >= 0) return { from: "graph", length };
        if (i === 0 && signature.maxBatchSize > 0) return { from: "rows" };
        return lengthBySymbol.get(symbol);
      },
    );
    if (tensor?.kind !== "tensor" || tensor.elementType === "string" || sources === undefined) {
      return () => undefined;
    }
    const known = sources.filter((source) => source !== undefined);
    return known.length === sources.length ? predictor(known) : () => undefined;
  });
}

function predictor(sources: readonly DimensionSource[]): OutputShape {
  // Most batches have the shape of the one before, and then the same array does.
  let last: Shape = [];
  return (inputs, rowCount) => {
    let isSame = last.length === sources.length;
    for (let i = 0; i < sources.length; i++) {
      const length = lengthOf(sources[i], inputs, rowCount);
      if (length === undefined) return undefined;
      isSame &&= last[i] === length;
    }
    if (!isSame) last = sources.map((source) => lengthOf(source, inputs, rowCount) ?? 0);
    return last;
  };
}

function lengthOf(
  source: DimensionSource | undefined,
  inputs: InputLookup,
  rowCount: number,
): number | undefined {
  switch (source?.from) {
    case "graph":
      return source.length;
    case "rows":
      return rowCount;
    case "input":
      return inputs[source.input]?.shape[source.dimension];
    default:
      return undefined;
  }
}
