import { InferenceError } from "../../base/error.ts";
import { formatShape, shapesEqual } from "../../base/shape.ts";
import type { BackendInstance } from "../../core/backend/backend-instance.ts";
import type {
  BackendModel,
  ExecutionSignature,
  ModelReport,
} from "../../core/backend/backend-model.ts";
import { IdentityInstance } from "./instance.ts";
import type { IdentitySettings } from "./settings.ts";

/** A model that exists in its configuration only. */
export class IdentityModel implements BackendModel {
  readonly report: ModelReport = { inputs: [], outputs: [] };
  readonly #settings: IdentitySettings;

  constructor(settings: IdentitySettings) {
    this.#settings = settings;
  }

  async createInstance(name: string, signature: ExecutionSignature): Promise<BackendInstance> {
    const inputByOutput = pairedInputs(signature);
    return new IdentityInstance(signature, inputByOutput, delayMsOf(name, this.#settings));
  }

  [Symbol.dispose](): void {
    return;
  }
}

/** Milliseconds that each execution of one instance takes; its number is the last one of its name. */
function delayMsOf(name: string, settings: IdentitySettings): number {
  const { executeDelayMs, instanceWiseDelayMultiplier } = settings;
  const instanceNumber = Number(/_(\d+)(?:_gpu\d+)?$/.exec(name)?.[1] ?? 0);
  return executeDelayMs * Math.max(1, instanceWiseDelayMultiplier * instanceNumber);
}

/**
 * For each output the index of the input with the same suffix: INPUT0 goes to OUTPUT0.
 * @throws InferenceError INVALID_ARG with Triton's texts for a configuration that does not pair.
 */
function pairedInputs({ inputs, outputs }: ExecutionSignature): readonly number[] {
  if (inputs.length !== outputs.length) {
    refuse("model configuration must have equal input/output pairs");
  }
  const inputIndexes = new Map<string, number>();
  inputs.forEach(({ name }, index) => {
    inputIndexes.set(suffixOf(name, "INPUT", "input"), index);
  });
  return outputs.map((output) => {
    const index = inputIndexes.get(suffixOf(output.name, "OUTPUT", "output"));
    const input = index === undefined ? undefined : inputs[index];
    if (index === undefined || input === undefined) {
      return refuse("expected input and output indices to match");
    }
    if (input.datatype !== output.datatype) {
      const got = `${input.datatype} and ${output.datatype}`;
      refuse(`expected input and output datatype to match, got ${got}`);
    }
    if (!shapesEqual(input.shape, output.shape)) {
      const got = `${formatShape(input.shape)} and ${formatShape(output.shape)}`;
      refuse(`expected input and output shape to match, got ${got}`);
    }
    return index;
  });
}

function suffixOf(name: string, prefix: string, kind: string): string {
  if (name.startsWith(prefix)) return name.slice(prefix.length);
  return refuse(`expected ${kind} name to follow ${prefix}<index> pattern, got '${name}'`);
}

function refuse(message: string): never {
  throw new InferenceError("INVALID_ARG", message);
}
