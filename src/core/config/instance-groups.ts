import { create } from "@bufbuild/protobuf";
import type {
  ModelConfig as ModelConfigMessage,
  ModelInstanceGroup,
} from "#gen/inference/model_config_pb.ts";
import {
  ModelInstanceGroup_Kind as Kind,
  ModelInstanceGroup_KindSchema,
  ModelInstanceGroupSchema,
} from "#gen/inference/model_config_pb.ts";
import { ENSEMBLE_PLATFORM } from "./backend-names.ts";
import { ConfigFaults } from "./config-faults.ts";
import { enumName } from "./field-words.ts";

/** Options of {@link normalizeInstanceGroups}. */
export interface InstanceGroupOptions {
  /** GPUs that the model's backend can use on this machine; their ordinals are 0 to this. */
  readonly gpuCount: number;
}

/** Instances of one model, over all its groups. Each is a thread or a process: more would take the machine down. */
const MAX_INSTANCE_COUNT = 1024;

/** Backends whose CPU groups have two instances where no count is given. */
const BACKENDS_WITH_TWO_CPU_INSTANCES: ReadonlySet<string> = new Set(["onnxruntime", "tensorflow"]);

/**
 * Gives every instance group its name, kind, count and GPUs; a model without groups gets one.
 *
 * @param message is changed. Ensembles have no instances and are left alone.
 * @throws InferenceError INVALID_ARG listing all groups that this machine cannot have, in Triton's words.
 * @see Triton docs, "Model Configuration", "Instance Groups".
 */
export function normalizeInstanceGroups(
  message: ModelConfigMessage,
  options: InstanceGroupOptions,
): void {
  if (message.platform === ENSEMBLE_PLATFORM) return;
  if (message.instanceGroup.length === 0) {
    // Only this one goes by the model's plain name.
    message.instanceGroup.push(create(ModelInstanceGroupSchema, { name: message.name }));
  }
  const faults = new ConfigFaults();
  message.instanceGroup.forEach((group, index) => {
    if (group.name === "") group.name = `${message.name}_${index}`;
    if (group.kind === Kind.AUTO) group.kind = automaticKind(group, options.gpuCount);
    checkGpus(message, group, options.gpuCount, faults);
    if (group.kind === Kind.GPU && group.gpus.length === 0) group.gpus = ordinals(options.gpuCount);
    if (group.count < 1) group.count = defaultCount(message.backend, group.kind);
  });
  const instanceCount = message.instanceGroup.reduce(
    (sum, { count, gpus }) => sum + count * Math.max(1, gpus.length),
    0,
  );
  faults.require(
    instanceCount <= MAX_INSTANCE_COUNT,
    () =>
      `model ${message.name} asks for ${instanceCount} instances in all its instance groups, ` +
      `a model may have ${MAX_INSTANCE_COUNT}`,
  );
  faults.throwIfAny();
}

/** GPU where every listed one is there, or any where none is listed. */
function automaticKind(group: ModelInstanceGroup, gpuCount: number): Kind {
  const areThere = group.gpus.every((gpu) => gpu >= 0 && gpu < gpuCount);
  if (gpuCount > 0 && areThere) return Kind.GPU;
  // The list named GPUs for the case that there are any.
  group.gpus = [];
  return Kind.CPU;
}

function checkGpus(
  { name: model }: ModelConfigMessage,
  group: ModelInstanceGroup,
  gpuCount: number,
  faults: ConfigFaults,
): void {
  const start = `instance group ${group.name} of model ${model}`;
  if (group.kind !== Kind.GPU) {
    const kind = enumName(ModelInstanceGroup_KindSchema, group.kind);
    faults.require(
      group.gpus.length === 0,
      () => `${start} has kind ${kind} but specifies one or more GPUs`,
    );
    return;
  }
  faults.require(
    group.gpus.length > 0 || gpuCount > 0,
    () => `${start} has kind KIND_GPU but no GPUs are available`,
  );
  for (const gpu of group.gpus) {
    faults.require(
      gpu >= 0 && gpu < gpuCount,
      () =>
        `${start} specifies invalid or unsupported gpu id ${gpu}. The GPUs of this machine are: ` +
        (gpuCount === 0 ? "none" : ordinals(gpuCount).join(", ")),
    );
  }
}

function defaultCount(backend: string, kind: Kind): number {
  return kind === Kind.CPU && BACKENDS_WITH_TWO_CPU_INSTANCES.has(backend) ? 2 : 1;
}

function ordinals(count: number): number[] {
  return Array.from({ length: count }, (_, ordinal) => ordinal);
}
