import { configDatatypeName, type Datatype } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import { formatShape, type Shape } from "../../base/shape.ts";
import { ensembleSteps } from "../config/ensemble-steps.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";

/** What one model says about a tensor of an ensemble. */
interface Claim {
  readonly modelName: string;
  readonly datatype: Datatype;
  /** Batch dimension included. */
  readonly shape: Shape;
}

/**
 * Checks an ensemble against the models of its steps: that every mapped tensor exists, that all who share a tensor
 * agree on type and shape, and that no step batches less than the ensemble.
 *
 * @param stepConfigs one for each step.
 * @throws InferenceError INVALID_ARG with Triton's text of the first fault, naming the step's model.
 */
export function checkEnsembleSteps(config: ModelConfig, stepConfigs: readonly ModelConfig[]): void {
  new StepCheck(config).run(stepConfigs);
}

class StepCheck {
  readonly #config: ModelConfig;
  /** The first claim on each tensor. */
  readonly #claims = new Map<string, Claim>();

  constructor(config: ModelConfig) {
    this.#config = config;
  }

  run(stepConfigs: readonly ModelConfig[]): void {
    const own = this.#config;
    for (const spec of [...own.inputs, ...own.outputs]) this.#claim(spec.name, own, spec);
    for (const [index, { inputMap, outputMap }] of ensembleSteps(own.message).entries()) {
      const model = stepConfigs[index];
      if (model === undefined) continue;
      this.#checkBatchSize(model);
      this.#checkInputs(model, inputMap);
      this.#checkOutputs(model, outputMap);
    }
  }

  #checkBatchSize({ name, maxBatchSize }: ModelConfig): void {
    const own = this.#config;
    if (own.maxBatchSize <= maxBatchSize) return;
    throw new InferenceError(
      "INVALID_ARG",
      `ensemble ${own.name} allows maximum batch size ${own.maxBatchSize}, but it contains model ${name} ` +
        `which only allows maximum batch size to be ${maxBatchSize}`,
    );
  }

  #checkInputs(model: ModelConfig, inputMap: Readonly<Record<string, string>>): void {
    for (const [input, tensor] of Object.entries(inputMap)) {
      const spec = model.inputs.find(({ name }) => name === input);
      if (spec === undefined) {
        throw this.#fault(
          `ensemble tensor ${tensor} is mapping to non-existing input ${input} in model ${model.name}`,
        );
      }
      this.#claim(tensor, model, spec);
    }
    for (const { name, isOptional } of model.inputs) {
      if (isOptional || inputMap[name] !== undefined) continue;
      throw this.#fault(
        `input ${name} in model ${model.name} is not mapped to any ensemble tensors`,
      );
    }
  }

  #checkOutputs(model: ModelConfig, outputMap: Readonly<Record<string, string>>): void {
    for (const [output, tensor] of Object.entries(outputMap)) {
      const spec = model.outputs.find(({ name }) => name === output);
      if (spec === undefined) {
        throw this.#fault(
          `ensemble tensor ${tensor} is mapped from non-existing output ${output} in model ${model.name}`,
        );
      }
      this.#claim(tensor, model, spec);
    }
  }

  /** Compares with what was said of the tensor first. */
  #claim(tensor: string, model: ModelConfig, spec: TensorSpec): void {
    const hasBatch = model.maxBatchSize > 0 && !spec.isShapeTensor;
    const shape = hasBatch ? [-1, ...spec.dims] : spec.dims;
    const claim: Claim = { modelName: model.name, datatype: spec.datatype, shape };
    const first = this.#claims.get(tensor);
    if (first === undefined) {
      this.#claims.set(tensor, claim);
      return;
    }
    const inferred = (a: string, b: string): string =>
      `${a} is inferred from model ${first.modelName} while ${b} is inferred from model ${claim.modelName}`;
    if (first.datatype !== claim.datatype) {
      const [a, b] = [configDatatypeName(first.datatype), configDatatypeName(claim.datatype)];
      throw this.#fault(`ensemble tensor ${tensor}: inconsistent data type: ${inferred(a, b)}`);
    }
    if (areCompatible(first.shape, claim.shape)) return;
    const [a, b] = [formatShape(first.shape), formatShape(claim.shape)];
    throw this.#fault(`ensemble tensor ${tensor}: inconsistent shape: ${inferred(a, b)}`);
  }

  #fault(text: string): InferenceError {
    return new InferenceError("INVALID_ARG", `in ensemble ${this.#config.name}, ${text}`);
  }
}

/** Whether a concrete shape may fit both. */
function areCompatible(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  return a.every((dim, i) => dim === -1 || b[i] === -1 || dim === b[i]);
}
