import type { Device } from "../backend/backend.ts";
import type { ModelConfig } from "../config/model-config.ts";

/** One instance to be made. */
export interface PlannedInstance {
  /** As Triton names them: `<group>_<n>`, on a GPU `<group>_<n>_gpu<id>`. */
  readonly name: string;
  readonly device: Device;
  readonly isPassive: boolean;
}

type InstanceGroup = ModelConfig["message"]["instanceGroup"][number];

/** `ModelInstanceGroup.Kind` of model_config.proto. */
const KIND_GPU = 1;
const KIND_MODEL = 3;

/** The instances that a configuration's (normalised) instance groups ask for, in order; at least one. */
export function plannedInstances(config: ModelConfig): readonly PlannedInstance[] {
  const planned = config.message.instanceGroup.flatMap(instancesOfGroup);
  if (planned.length > 0) return planned;
  return [{ name: `${config.name}_0`, device: { kind: "CPU", id: -1 }, isPassive: false }];
}

function instancesOfGroup(group: InstanceGroup): PlannedInstance[] {
  const isPassive = group.passive;
  const planned: PlannedInstance[] = [];
  for (const device of devicesOf(group)) {
    const suffix = device.kind === "GPU" ? `_gpu${device.id}` : "";
    for (let i = 0; i < group.count; i++) {
      planned.push({ name: `${group.name}_${i}${suffix}`, device, isPassive });
    }
  }
  return planned;
}

function devicesOf(group: InstanceGroup): readonly Device[] {
  if (group.kind === KIND_GPU) return group.gpus.map((id) => ({ kind: "GPU", id }));
  return [{ kind: group.kind === KIND_MODEL ? "MODEL" : "CPU", id: -1 }];
}
