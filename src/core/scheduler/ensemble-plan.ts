import { InferenceError } from "../../base/error.ts";
import { ensembleSteps } from "../config/ensemble-steps.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import type { RequestedOutput } from "../request/request-signature.ts";

/** A loaded model as an ensemble sees it. */
export interface StepModel {
  readonly name: string;
  readonly config: ModelConfig;
  /** Validates and enqueues. @throws InferenceError when it is refused at once. */
  submit(request: InferenceRequest): void;
}

/** An input of a step's model and the tensor of the ensemble that it gets. */
export interface MappedInput {
  readonly name: string;
  /** Index into {@link EnsemblePlan.tensorNames}. */
  readonly tensor: number;
}

/** One step of an ensemble. */
export interface EnsembleStep {
  readonly index: number;
  readonly model: StepModel;
  readonly inputs: readonly MappedInput[];
  /** Tensor of the ensemble by output of the step's model. */
  readonly outputs: ReadonlyMap<string, number>;
  /** The decoupled step once for each of whose answers this one runs; {@link ROOT} = once for each request. */
  readonly origin: number;
}

/** Origin of tensors that exist once for each request. */
export const ROOT = -1;

/** How tensors flow through an ensemble. Made once at load; tensors and steps are known by their indexes. */
export interface EnsemblePlan {
  readonly steps: readonly EnsembleStep[];
  readonly tensorNames: readonly string[];
  /** For each tensor, like {@link EnsembleStep.origin}. */
  readonly tensorOrigins: readonly number[];
  /** Tensor by input of the ensemble. */
  readonly inputs: ReadonlyMap<string, number>;
  /** Tensor of each output of the ensemble, in the order of the configuration. */
  readonly outputs: readonly number[];
}

/** Outputs that leave together in one response: all of a request, or all that one answer of a decoupled step leads to. */
export interface OutputGroup {
  readonly origin: number;
  /** Indexes into the outputs of the configuration, ascending. */
  readonly outputs: readonly number[];
}

/** The part of a plan that some outputs need. */
export interface EnsembleRoute {
  readonly plan: EnsemblePlan;
  /** For each tensor the steps that read it and are needed. */
  readonly readers: readonly (readonly EnsembleStep[])[];
  /** For each tensor whether a needed step or a response uses it. */
  readonly isNeeded: readonly boolean[];
  readonly steps: readonly EnsembleStep[];
  /** For each step of the plan what it is asked for. */
  readonly requested: readonly (readonly RequestedOutput[])[];
  readonly groups: readonly OutputGroup[];
}

/**
 * @param config of the ensemble; its steps are free of contradictions and reach every tensor.
 * @param models one for each step.
 * @throws InferenceError INVALID_ARG where a step would need answers of two decoupled models at once.
 */
export function ensemblePlan(config: ModelConfig, models: readonly StepModel[]): EnsemblePlan {
  const tensorNames: string[] = [];
  const byName = new Map<string, number>();
  const indexOf = (name: string): number => {
    const known = byName.get(name);
    if (known !== undefined) return known;
    byName.set(name, tensorNames.length);
    return tensorNames.push(name) - 1;
  };
  const inputs = new Map(config.inputs.map(({ name }) => [name, indexOf(name)]));
  const drafts = ensembleSteps(config.message).flatMap((step, index) => {
    const model = models[index];
    if (model === undefined) return [];
    return {
      index,
      model,
      inputs: Object.entries(step.inputMap).map(([name, t]) => ({ name, tensor: indexOf(t) })),
      outputs: new Map(Object.entries(step.outputMap).map(([name, t]) => [name, indexOf(t)])),
    };
  });
  const origins = new Origins(config.name, drafts, inputs.values());
  return {
    steps: drafts.map((draft) => ({ ...draft, origin: origins.ofStep(draft) })),
    tensorNames,
    tensorOrigins: tensorNames.map((_, tensor) => origins.ofTensor(tensor)),
    inputs,
    outputs: config.outputs.map(({ name }) => indexOf(name)),
  };
}

/** Whether answers of the ensemble's request are not exactly one. */
export function hasDecoupledStep(models: readonly StepModel[]): boolean {
  return models.some(({ config }) => config.isDecoupled);
}

/**
 * What has to run for some outputs.
 * @param wanted indexes into the outputs of the configuration; undefined = all.
 */
export function ensembleRoute(
  plan: EnsemblePlan,
  wanted: readonly number[] | undefined,
): EnsembleRoute {
  const outputs = wanted ?? plan.outputs.map((_, i) => i);
  const isNeeded = plan.tensorNames.map(() => false);
  const neededSteps = new Set<EnsembleStep>();
  const open = outputs.flatMap((output) => plan.outputs[output] ?? []);
  for (let tensor = open.pop(); tensor !== undefined; tensor = open.pop()) {
    if (isNeeded[tensor]) continue;
    isNeeded[tensor] = true;
    const writer = plan.steps.find((step) => [...step.outputs.values()].includes(tensor));
    if (writer === undefined || neededSteps.has(writer)) continue;
    neededSteps.add(writer);
    open.push(...writer.inputs.map((input) => input.tensor));
  }
  const steps = plan.steps.filter((step) => neededSteps.has(step));
  return {
    plan,
    isNeeded,
    steps,
    readers: plan.tensorNames.map((_, tensor) =>
      steps.filter(({ inputs }) => inputs.some((input) => input.tensor === tensor)),
    ),
    requested: plan.steps.map((step) =>
      [...step.outputs]
        .filter(([, tensor]) => isNeeded[tensor])
        .map(([name]) => ({ name, classificationCount: 0 })),
    ),
    groups: outputGroups(plan, outputs),
  };
}

/** Outputs that exist once for the request go along with every response of a decoupled step's answers. */
function outputGroups(plan: EnsemblePlan, outputs: readonly number[]): readonly OutputGroup[] {
  const originOf = (output: number): number =>
    plan.tensorOrigins[plan.outputs[output] ?? 0] ?? ROOT;
  const decoupled = [...new Set(outputs.map(originOf))].filter((origin) => origin !== ROOT);
  if (decoupled.length === 0) return [{ origin: ROOT, outputs }];
  return decoupled.map((origin) => ({
    origin,
    outputs: outputs.filter((output) => [ROOT, origin].includes(originOf(output))),
  }));
}

type StepDraft = Omit<EnsembleStep, "origin">;

/** Finds for each tensor the nearest decoupled step that it comes from. */
class Origins {
  readonly #ensembleName: string;
  readonly #drafts: readonly StepDraft[];
  readonly #ofTensor = new Map<number, number>();

  constructor(ensembleName: string, drafts: readonly StepDraft[], inputs: Iterable<number>) {
    this.#ensembleName = ensembleName;
    this.#drafts = drafts;
    for (const tensor of inputs) this.#ofTensor.set(tensor, ROOT);
  }

  ofTensor(tensor: number): number {
    const known = this.#ofTensor.get(tensor);
    if (known !== undefined) return known;
    const writer = this.#drafts.find(({ outputs }) => [...outputs.values()].includes(tensor));
    // Nothing writes it: it never comes, so it does not matter where from.
    if (writer === undefined) return ROOT;
    const origin = this.ofStep(writer);
    const own = writer.model.config.isDecoupled ? writer.index : origin;
    this.#ofTensor.set(tensor, own);
    return own;
  }

  ofStep({ inputs, model }: StepDraft): number {
    const origins = new Set(inputs.map(({ tensor }) => this.ofTensor(tensor)));
    origins.delete(ROOT);
    const [origin = ROOT, other] = origins;
    if (other === undefined) return origin;
    throw new InferenceError(
      "INVALID_ARG",
      `in ensemble ${this.#ensembleName}, step of model '${model.name}' receives inputs originated ` +
        "from different decoupled models",
    );
  }
}
