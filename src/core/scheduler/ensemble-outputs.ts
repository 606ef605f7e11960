import type { InferenceRequest } from "../request/inference-request.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { EnsembleRoute, OutputGroup } from "./ensemble-plan.ts";
import type { EnsembleOptions } from "./ensemble-run.ts";
import { ABSENT, type EnsembleScope } from "./ensemble-scope.ts";

/** Whether all outputs of a response are in a scope or around it. */
export function hasOutputs(
  { plan }: EnsembleRoute,
  group: OutputGroup,
  scope: EnsembleScope,
): boolean {
  return group.outputs.every((output) => scope.find(plan.outputs[output] ?? -1) !== undefined);
}

/**
 * The outputs of one response, with classes where the request asks for them.
 * @throws InferenceError where classes are asked of a tensor that has none.
 */
export function outputsOf(
  options: EnsembleOptions,
  group: OutputGroup,
  scope: EnsembleScope,
  request: InferenceRequest,
): readonly Tensor[] {
  const hasBatchDimension = options.config.maxBatchSize > 0;
  const tensors: Tensor[] = [];
  for (const output of group.outputs) {
    const spec = options.config.outputs[output];
    const held = scope.find(options.plan.outputs[output] ?? -1);
    if (spec === undefined || held === undefined || held === ABSENT) continue;
    const tensor: Tensor = { name: spec.name, ...held };
    const wanted = request.signature.outputs.find(({ name }) => name === spec.name);
    const classCount = wanted?.classificationCount ?? 0;
    tensors.push(
      classCount === 0 ? tensor : options.classify(tensor, classCount, spec, hasBatchDimension),
    );
  }
  return tensors;
}
