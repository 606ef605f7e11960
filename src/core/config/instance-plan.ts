import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { ModelInstanceGroup_Kind as Kind } from "#gen/inference/model_config_pb.ts";

/** One instance that a model is to have. Plain data. */
export interface InstancePlan {
  /** `<group>_<n>`, on a GPU `<group>_<n>_gpu<id>`. */
  readonly name: string;
  /** Index into `message.instanceGroup`. */
  readonly groupIndex: number;
  /** Where it runs; the id is −1 except for GPUs. */
  readonly device: { readonly kind: "CPU" | "GPU" | "MODEL"; readonly id: number };
  /** Loaded, but the scheduler gives it no requests. */
  readonly isPassive: boolean;
  /** Name of its host policy: the group's own, else `cpu`, `model` or `gpu_<id>`. */
  readonly hostPolicy: string;
}

/** The instances of normalised groups, in the order of the groups. Counts of GPU groups are per GPU. */
export function instancePlansFrom(message: ModelConfigMessage): readonly InstancePlan[] {
  return message.instanceGroup.flatMap((group, groupIndex) => {
    const gpus = group.kind === Kind.GPU ? group.gpus : [-1];
    return gpus.flatMap((id) =>
      Array.from({ length: group.count }, (_, n): InstancePlan => {
        const device = { kind: deviceKind(group.kind), id };
        const suffix = id < 0 ? "" : `_gpu${id}`;
        const policy = id < 0 ? device.kind.toLowerCase() : `gpu_${id}`;
        return {
          name: `${group.name}_${n}${suffix}`,
          groupIndex,
          device,
          isPassive: group.passive,
          hostPolicy: group.hostPolicy === "" ? policy : group.hostPolicy,
        };
      }),
    );
  });
}

function deviceKind(kind: Kind): "CPU" | "GPU" | "MODEL" {
  if (kind === Kind.GPU) return "GPU";
  return kind === Kind.MODEL ? "MODEL" : "CPU";
}
