import { elementBytesOf } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import { elementCount, formatShape, type Shape, shapeMatches } from "../../base/shape.ts";
import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { requestPrefix } from "../request/request-prefix.ts";
import type {
  InputDescription,
  RequestSignature,
  ValidatedSignature,
} from "../request/request-signature.ts";
import { reshaped } from "../tensor/reshape.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import { isClassifiable } from "./classification.ts";

const NO_SHAPE: Shape = [];

/**
 * Checks what requests say about their tensors against one loaded model. The result holds for every request of the
 * same signature; what depends on the bytes is left to `check-input-bytes.ts`.
 *
 * The checks come in Triton's order, since the first fault is what the client reads: outputs, number and names of
 * inputs, batch size, then each input's datatype, shape and size.
 */
export class RequestValidator {
  readonly #model: object;
  readonly #config: ModelConfig;
  readonly #signature: ExecutionSignature;
  readonly #inputSpecs: ReadonlyMap<string, TensorSpec>;
  readonly #outputSpecs: ReadonlyMap<string, TensorSpec>;
  readonly #requiredInputCount: number;
  readonly #hasOptionalInputs: boolean;

  /** @param model identity that the results carry, see {@link ValidatedSignature.model}. */
  constructor(model: object, config: ModelConfig, signature: ExecutionSignature) {
    this.#model = model;
    this.#config = config;
    this.#signature = signature;
    this.#inputSpecs = new Map(config.inputs.map((spec) => [spec.name, spec]));
    this.#outputSpecs = new Map(config.outputs.map((spec) => [spec.name, spec]));
    this.#requiredInputCount = config.inputs.filter((spec) => !spec.isOptional).length;
    this.#hasOptionalInputs = this.#requiredInputCount < config.inputs.length;
  }

  /**
   * @param requestId for the messages.
   * @throws InferenceError INVALID_ARG with Triton's texts.
   */
  validate(signature: RequestSignature, requestId: string): ValidatedSignature {
    try {
      return this.#validate(signature);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new InferenceError("INVALID_ARG", requestPrefix(requestId) + error.message);
    }
  }

  #validate(signature: RequestSignature): ValidatedSignature {
    const { inputs } = signature;
    const positions = this.#inputPositions(inputs);
    const outputIndexes = this.#outputIndexes(signature);
    this.#checkInputNames(inputs, positions);
    for (const input of inputs) this.#checkDims(input);
    const batchSize = this.#batchSize(inputs);
    this.#checkClassification(signature);
    const elementCounts = inputs.map((input) => this.#checkTensor(input));
    return {
      model: this.#model,
      batchSize,
      inputOrder: this.#signature.inputs.map((input) => positions.get(input.name) ?? -1),
      backendShapes: this.#signature.inputs.map((input) =>
        this.#backendShape(inputs[positions.get(input.name) ?? -1]),
      ),
      expectedBytes: inputs.map((input, i) => expectedBytes(input, elementCounts[i] ?? 0)),
      elementCounts,
      mergeKey: this.#mergeKey(inputs, positions),
      outputIndexes,
    };
  }

  /** Index of each input by its name. @throws Refusal when a name comes twice. */
  #inputPositions(inputs: readonly InputDescription[]): ReadonlyMap<string, number> {
    const positions = new Map<string, number>();
    for (const [i, { name }] of inputs.entries()) {
      if (positions.has(name)) throw new Refusal(`input '${name}' already exists in request`);
      positions.set(name, i);
    }
    return positions;
  }

  #outputIndexes(signature: RequestSignature): readonly number[] | undefined {
    if (signature.outputs.length === 0) return undefined;
    for (const { name } of signature.outputs) {
      if (this.#outputSpecs.has(name)) continue;
      throw new Refusal(`unexpected inference output '${name}' for model '${this.#config.name}'`);
    }
    const wanted = new Set(signature.outputs.map((output) => output.name));
    const indexes: number[] = [];
    for (const [i, { name }] of this.#signature.outputs.entries()) {
      if (wanted.has(name)) indexes.push(i);
    }
    return indexes;
  }

  #checkInputNames(
    inputs: readonly InputDescription[],
    positions: ReadonlyMap<string, number>,
  ): void {
    const specs = this.#config.inputs;
    const missing = specs.filter((spec) => !spec.isOptional && !positions.has(spec.name));
    const isCountRight = inputs.length >= this.#requiredInputCount && inputs.length <= specs.length;
    const unexpected = inputs.filter((input) => !this.#inputSpecs.has(input.name));
    const [firstUnexpected] = unexpected;
    if (isCountRight && firstUnexpected !== undefined) {
      throw new Refusal(
        `unexpected inference input '${firstUnexpected.name}' for model '${this.#config.name}'`,
      );
    }
    if (isCountRight && missing.length === 0) return;
    const expected = this.#hasOptionalInputs
      ? `expected number of inputs between ${this.#requiredInputCount} and ${specs.length}`
      : `expected ${specs.length} inputs`;
    const fault =
      missing.length > 0
        ? `, but missing required input(s) [${names(missing)}]. Please provide all required input(s).`
        : `, of which [${names(unexpected)}] are no inputs of the model.`;
    throw new Refusal(
      `${expected} but got ${inputs.length} inputs for model '${this.#config.name}'. ` +
        `Got input(s) [${names(inputs)}]${fault}`,
    );
  }

  #checkDims(input: InputDescription): void {
    if (input.shape.every((dim) => Number.isInteger(dim) && dim >= 0)) return;
    throw new Refusal(
      `input '${input.name}' has a negative dimension in its shape ${formatShape(input.shape)} ` +
        `for model '${this.#config.name}'`,
    );
  }

  #batchSize(inputs: readonly InputDescription[]): number {
    const { maxBatchSize, name: modelName } = this.#config;
    if (maxBatchSize === 0) return 1;
    let batchSize: number | undefined;
    for (const input of inputs) {
      if (this.#inputSpecs.get(input.name)?.isShapeTensor) continue;
      const rows = input.shape[0];
      if (rows === undefined) {
        throw new Refusal(
          `input '${input.name}' has no shape but model requires batch dimension for '${modelName}'`,
        );
      }
      if (batchSize !== undefined && rows !== batchSize) {
        throw new Refusal(
          `input '${input.name}' batch size does not match other inputs for '${modelName}'`,
        );
      }
      batchSize = rows;
    }
    const rows = batchSize ?? 1;
    if (rows > maxBatchSize) {
      throw new Refusal(
        `inference request batch-size must be <= ${maxBatchSize} for '${modelName}'`,
      );
    }
    if (rows === 0) {
      throw new Refusal(`inference request batch-size must be >= 1 for '${modelName}'`);
    }
    return rows;
  }

  /** @returns the number of elements of an input that fits its specification. */
  #checkTensor(input: InputDescription): number {
    const { name, datatype, shape } = input;
    const modelName = this.#config.name;
    const spec = this.#inputSpecs.get(name);
    if (spec === undefined) {
      throw new Refusal(`unexpected inference input '${name}' for model '${modelName}'`);
    }
    if (datatype !== spec.datatype) {
      throw new Refusal(
        `inference input '${name}' data-type is '${datatype}', but model '${modelName}' ` +
          `expects '${spec.datatype}'`,
      );
    }
    const hasBatch = this.#hasBatchDimension(spec);
    const fullDims = hasBatch ? [-1, ...spec.dims] : spec.dims;
    if (!shapeMatches(fullDims, shape)) {
      const note = hasBatch
        ? `NOTE: max_batch_size is ${this.#config.maxBatchSize}, so the batch dimension comes ` +
          "before the dims of the configuration; with max_batch_size 0 the dims are the whole shape."
        : "";
      throw new Refusal(
        `unexpected shape for input '${name}' for model '${modelName}'. ` +
          `Expected ${formatShape(fullDims)}, got ${formatShape(shape)}. ${note}`,
      );
    }
    const count = elementCount(shape);
    if (Number.isNaN(count) || !Number.isSafeInteger(count * elementBytesOf(datatype))) {
      throw new Refusal(
        `input '${name}' for model '${modelName}' has too many elements: ${formatShape(shape)}`,
      );
    }
    return count;
  }

  #hasBatchDimension(spec: TensorSpec): boolean {
    return this.#config.maxBatchSize > 0 && !spec.isShapeTensor;
  }

  #backendShape(input: InputDescription | undefined): Shape {
    if (input === undefined) return NO_SHAPE;
    const spec = this.#inputSpecs.get(input.name);
    if (spec?.reshape === undefined) return input.shape;
    if (!this.#hasBatchDimension(spec)) return reshaped(spec.dims, spec.reshape, input.shape);
    const rows = input.shape[0] ?? 1;
    return [rows, ...reshaped(spec.dims, spec.reshape, input.shape.slice(1))];
  }

  /** See {@link ValidatedSignature.mergeKey}. */
  #mergeKey(inputs: readonly InputDescription[], positions: ReadonlyMap<string, number>): string {
    if (this.#config.maxBatchSize === 0) return "";
    let key = "";
    for (const spec of this.#config.inputs) {
      const input = inputs[positions.get(spec.name) ?? -1];
      if (input === undefined) key += "-;";
      else if (spec.dims.includes(-1) && !spec.allowsRaggedBatch) {
        key += `${input.shape.slice(1).join(",")};`;
      } else if (this.#hasOptionalInputs) key += "+;";
    }
    return key;
  }

  /** @throws Refusal where classes are asked of an output whose datatype has no order. */
  #checkClassification(signature: RequestSignature): void {
    for (const { name, classificationCount } of signature.outputs) {
      const datatype = this.#outputSpecs.get(name)?.datatype;
      if (classificationCount === 0 || datatype === undefined || isClassifiable(datatype)) continue;
      throw new Refusal(
        `class result not available for output '${name}' of model '${this.#config.name}' ` +
          `due to unsupported type '${datatype}'`,
      );
    }
  }
}

/** A fault in a signature, without the request's id, which is no part of a signature. */
class Refusal extends Error {}

function names(tensors: readonly { readonly name: string }[]): string {
  return tensors.map((tensor) => `'${tensor.name}'`).join(",");
}

function expectedBytes(input: InputDescription, count: number): number {
  return input.datatype === "BYTES" ? -1 : count * elementBytesOf(input.datatype);
}
