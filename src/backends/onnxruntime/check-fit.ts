import type { GraphTensor, Session } from "#ffi/onnxruntime/session.ts";
import type { ModelConfig, ModelInput } from "#gen/inference/model_config_pb.ts";
import { configDatatypeName } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import { formatShape, type Shape } from "../../base/shape.ts";
import type { ExecutionSignature, ExecutionTensor } from "../../core/backend/backend-model.ts";
import { datatypeFrom } from "./datatypes.ts";

type Graph = Pick<Session, "inputs" | "outputs" | "overridableInitializers">;

/**
 * Checks a completed configuration against the graph. Inputs may narrow what the graph leaves free; outputs must say
 * exactly what the graph says, because clients rely on them.
 *
 * @throws InferenceError INVALID_ARG with Triton's words.
 * @see onnxruntime_backend, "Model Config" and the messages of Triton's backend library.
 */
export function checkFit(graph: Graph, config: ModelConfig, signature: ExecutionSignature): void {
  checkInputCount(graph, config);
  const inputs = [...graph.inputs, ...graph.overridableInitializers];
  for (const tensor of signature.inputs) {
    const input = named(inputs, tensor.name);
    if (input === undefined) refuse(unexpected("input", tensor.name, graph.inputs));
    const field = config.input.find(({ name }) => name === tensor.name);
    checkOptional(field, config);
    checkDatatype("input", tensor, input, config);
    if (field?.allowRaggedBatch) checkRagged(tensor, input, config);
    else checkShape(tensor, input, { config, isExact: false });
  }
  for (const tensor of signature.outputs) {
    const output = named(graph.outputs, tensor.name);
    if (output === undefined) refuse(unexpected("output", tensor.name, graph.outputs));
    checkDatatype("output", tensor, output, config);
    // A state that clients do not see may be narrower than the graph says, like an input.
    checkShape(tensor, output, { config, isExact: !isHiddenState(tensor.name, config) });
  }
}

/** Whether an output is a state of sequences that the configuration does not list as an output. */
function isHiddenState(name: string, { schedulingChoice, output }: ModelConfig): boolean {
  if (schedulingChoice.case !== "sequenceBatching") return false;
  const isState = schedulingChoice.value.state.some(({ outputName }) => outputName === name);
  return isState && !output.some((listed) => listed.name === name);
}

function refuse(message: string): never {
  throw new InferenceError("INVALID_ARG", message);
}

function named(tensors: readonly GraphTensor[], name: string): GraphTensor | undefined {
  return tensors.find((tensor) => tensor.name === name);
}

function unexpected(
  side: "input" | "output",
  name: string,
  allowed: readonly GraphTensor[],
): string {
  const names = allowed.map((tensor) => tensor.name).sort();
  return `unexpected inference ${side} '${name}', allowed ${side}s are: ${names.join(", ")}`;
}

/** Inputs of the configuration, of its batching and of its sequences must together be those of the graph. */
function checkInputCount(graph: Graph, config: ModelConfig): void {
  const sequence =
    config.schedulingChoice.case === "sequenceBatching" ? config.schedulingChoice.value : undefined;
  const expected =
    config.input.length +
    config.batchInput.reduce((count, { targetName }) => count + targetName.length, 0) +
    (sequence?.controlInput.length ?? 0) +
    (sequence?.state.length ?? 0);
  const least = graph.inputs.length;
  const most = least + graph.overridableInitializers.length;
  if (expected >= least && expected <= most) return;
  const provides = most === least || expected < least ? `${least}` : `at most ${most}`;
  refuse(
    `unable to load model '${config.name}', configuration expects ${expected} inputs, model provides ${provides}`,
  );
}

function checkOptional(field: ModelInput | undefined, config: ModelConfig): void {
  if (field?.optional && config.maxBatchSize > 0) {
    refuse(`optional input '${field.name}' is not supported for models that support batching`);
  }
}

function checkDatatype(
  side: "input" | "output",
  { name, datatype }: ExecutionTensor,
  { kind, elementType }: GraphTensor,
  config: ModelConfig,
): void {
  if (kind !== "tensor") {
    const type = `ONNX_TYPE_${kind.toUpperCase()}`;
    refuse(`Unsupported ONNX Type '${type}' for I/O '${name}', expected 'ONNX_TYPE_TENSOR'.`);
  }
  const provided = datatypeFrom(elementType);
  if (provided === datatype) return;
  const word = provided === undefined ? `'${elementType}'` : configDatatypeName(provided);
  refuse(
    `unable to load model '${config.name}', configuration expects datatype ` +
      `${configDatatypeName(datatype)} for ${side} '${name}', model provides ${word}`,
  );
}

function checkRagged(
  { name }: ExecutionTensor,
  { dimensions }: GraphTensor,
  config: ModelConfig,
): void {
  if (dimensions === undefined || dimensions[0]?.length === -1) return;
  const shape = formatShape(dimensions.map(({ length }) => length));
  refuse(
    `unable to load model '${config.name}', configuration expects model provides input with shape [-1] for ` +
      `ragged input '${name}', model provides ${shape}`,
  );
}

interface ShapeCheck {
  readonly config: ModelConfig;
  /** A free dimension on one side must be free on the other as well. */
  readonly isExact: boolean;
}

function checkShape(tensor: ExecutionTensor, { dimensions }: GraphTensor, check: ShapeCheck): void {
  // A graph that leaves the rank open takes any.
  if (dimensions === undefined) return;
  const { config } = check;
  const start = `model '${config.name}', tensor '${tensor.name}': `;
  const modelShape = dimensions.map(({ length }) => length);
  if (config.maxBatchSize > 0) {
    if (modelShape[0] !== -1) {
      refuse(
        `${start}for the model to support batching the shape should have at least 1 dimension and the first ` +
          `dimension must be -1; but shape expected by the model is ${formatShape(modelShape)}`,
      );
    }
    if (fits(modelShape, tensor.shape, check.isExact)) return;
    refuse(
      `${start}${expects(modelShape)} but the model configuration specifies ${tensor.shape.length} dimensions ` +
        "(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, " +
        `making complete shape ${formatShape(tensor.shape)})`,
    );
  }
  if (modelShape.length === 0) {
    checkScalar(tensor, config);
    return;
  }
  if (fits(modelShape, tensor.shape, check.isExact)) return;
  refuse(
    `${start}${expects(modelShape)} but the model configuration specifies ${tensor.shape.length} dimensions ` +
      `(shape ${formatShape(tensor.shape)})`,
  );
}

function expects(shape: Shape): string {
  return `the model expects ${shape.length} dimensions (shape ${formatShape(shape)})`;
}

/** A graph's scalar is declared by one element, or by an empty reshape. */
function checkScalar({ name, shape }: ExecutionTensor, config: ModelConfig): void {
  if (shape.length === 0 || (shape.length === 1 && shape[0] === 1)) return;
  refuse(
    `model '${config.name}': scalar tensor '${name}', should only provide 1 in the model configuration when the ` +
      `model doesn't support batching, got ${formatShape(shape)}`,
  );
}

function fits(model: Shape, configured: Shape, isExact: boolean): boolean {
  if (model.length !== configured.length) return false;
  return model.every((dim, i) => {
    const given = configured[i];
    // A configuration cannot say 0: there a free dimension stands for it.
    if (dim === given || (dim === 0 && given === -1)) return true;
    return !isExact && (dim === -1 || given === -1);
  });
}
