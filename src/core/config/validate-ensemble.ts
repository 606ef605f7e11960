import type {
  ModelConfig as ModelConfigMessage,
  ModelEnsembling,
} from "#gen/inference/model_config_pb.ts";
import type { ConfigFaults } from "./config-faults.ts";

/**
 * Checks what an ensemble's configuration alone can tell: its steps, and how tensors flow between them. Whether the
 * steps' models exist and agree on types and shapes is known only once they are loaded.
 * @see Triton docs, "Ensemble Models".
 */
export function checkEnsemble(
  message: ModelConfigMessage,
  ensembling: ModelEnsembling,
  faults: ConfigFaults,
): void {
  const { name } = message;
  faults.require(
    message.instanceGroup.length === 0,
    () => `instance group should not be specified for ensemble '${name}'`,
  );
  faults.require(
    message.optimization === undefined,
    () => `optimization should not be specified for ensemble '${name}'`,
  );
  faults.require(
    message.modelWarmup.length === 0,
    () => `model_warmup can not be specified for ensemble '${name}'`,
  );
  if (
    !faults.require(ensembling.step.length > 0, () => `must specify 'step' for ensemble '${name}'`)
  ) {
    return;
  }
  ensembling.step.forEach((step, index) => {
    const place = `in step ${index} of ensemble '${name}'`;
    faults.require(step.modelName !== "", () => `must specify 'model_name' ${place}`);
    faults.require(
      !/[/\\\0]/.test(step.modelName) && step.modelName !== "." && step.modelName !== "..",
      () => `'model_name' ${place} must be the name of a model, got '${step.modelName}'`,
    );
    faults.require(
      Object.keys(step.inputMap).length > 0,
      () => `must specify 'input_map' ${place}`,
    );
    faults.require(
      Object.keys(step.outputMap).length > 0,
      () => `must specify 'output_map' ${place}`,
    );
    faults.require(
      step.modelVersion >= -1n,
      () =>
        `'model_version' must be -1 for the latest version, or a version ${place}, got ${step.modelVersion}`,
    );
  });
  checkDataFlow(message, ensembling, faults);
}

/** A tensor of the ensemble: steps that write and read it, by index. */
interface EnsembleTensor {
  readonly writers: number[];
  readonly readers: number[];
}

function checkDataFlow(
  message: ModelConfigMessage,
  ensembling: ModelEnsembling,
  faults: ConfigFaults,
): void {
  const { name } = message;
  const inputs = new Set(message.input.map((input) => input.name));
  const outputs = new Set(message.output.map((output) => output.name));
  const tensors = tensorsOf(ensembling);
  for (const [tensor, { writers }] of tensors) {
    const writerCount = writers.length + (inputs.has(tensor) ? 1 : 0);
    faults.require(writerCount < 2, () =>
      writers.length > 1
        ? `ensemble tensor '${tensor}' can appear in an output map only once for ensemble '${name}' step ${writers[1]}`
        : `ensemble tensor '${tensor}' is an input of ensemble '${name}' and cannot be written by step ${writers[0]}`,
    );
  }
  for (const input of inputs) {
    faults.require(
      tensors.has(input),
      () => `ensemble input '${input}' for ensemble '${name}' is not used`,
    );
  }
  const ready = readyTensors(ensembling, inputs);
  for (const output of outputs) {
    if (!tensors.has(output)) {
      faults.add(`ensemble output '${output}' for ensemble '${name}' is not used`);
    } else if (!ready.has(output)) {
      const blocker = blockerOf(output, ensembling, ready);
      const reason =
        blocker === output
          ? ""
          : `: at least one of its depending tensors, '${blocker}', is not connected`;
      faults.add(`output '${output}' for ensemble '${name}' is not written${reason}`);
    }
  }
  for (const [tensor, { readers }] of tensors) {
    if (outputs.has(tensor)) continue;
    faults.require(
      ready.has(tensor) && readers.length > 0,
      () => `ensemble tensor '${tensor}' is unused in ensemble '${name}'`,
    );
  }
}

function tensorsOf({ step }: ModelEnsembling): ReadonlyMap<string, EnsembleTensor> {
  const tensors = new Map<string, EnsembleTensor>();
  const tensorOf = (name: string): EnsembleTensor => {
    const tensor = tensors.get(name) ?? { writers: [], readers: [] };
    tensors.set(name, tensor);
    return tensor;
  };
  step.forEach(({ inputMap, outputMap }, index) => {
    for (const tensor of Object.values(inputMap)) tensorOf(tensor).readers.push(index);
    for (const tensor of Object.values(outputMap)) tensorOf(tensor).writers.push(index);
  });
  return tensors;
}

/** Tensors that are written once the ensemble has its inputs and every step runs that can. */
function readyTensors({ step }: ModelEnsembling, inputs: ReadonlySet<string>): ReadonlySet<string> {
  const ready = new Set(inputs);
  const waiting = new Set(step);
  for (let progress = true; progress; ) {
    progress = false;
    for (const one of waiting) {
      if (!Object.values(one.inputMap).every((tensor) => ready.has(tensor))) continue;
      for (const tensor of Object.values(one.outputMap)) ready.add(tensor);
      waiting.delete(one);
      progress = true;
    }
  }
  return ready;
}

/** Goes up from a tensor that is never written, to the first one on the way that nothing writes. */
function blockerOf(tensor: string, { step }: ModelEnsembling, ready: ReadonlySet<string>): string {
  const visited = new Set<string>();
  let blocker = tensor;
  while (!visited.has(blocker)) {
    visited.add(blocker);
    const writer = step.find(({ outputMap }) => Object.values(outputMap).includes(blocker));
    const missing = Object.values(writer?.inputMap ?? {}).find((name) => !ready.has(name));
    if (missing === undefined) return blocker;
    blocker = missing;
  }
  return blocker;
}
