import { describe, expect, test } from "bun:test";
import { normalizeInstanceGroups } from "../../../../src/core/config/instance-groups.ts";
import { instancePlansFrom } from "../../../../src/core/config/instance-plan.ts";
import { configMessage } from "../../../support/config-texts.ts";

describe("instancePlansFrom", () => {
  test("lists the instances of all groups in order, GPU groups once for each GPU", () => {
    const message = configMessage(`
      name: "m" backend: "onnxruntime"
      instance_group { kind: KIND_CPU count: 2 }
      instance_group { name: "g" kind: KIND_GPU gpus: [ 0, 2 ] count: 2 host_policy: "near" }
      instance_group { kind: KIND_MODEL passive: true }
      instance_group { kind: KIND_GPU gpus: 1 }`);
    normalizeInstanceGroups(message, { gpuCount: 3 });
    const plans = instancePlansFrom(message);
    const cpu = { kind: "CPU", id: -1 } as const;
    const gpu = (id: number) => ({ kind: "GPU", id }) as const;
    expect(plans.map(({ name, groupIndex, device }) => ({ name, groupIndex, device }))).toEqual([
      { name: "m_0_0", groupIndex: 0, device: cpu },
      { name: "m_0_1", groupIndex: 0, device: cpu },
      { name: "g_0_gpu0", groupIndex: 1, device: gpu(0) },
      { name: "g_1_gpu0", groupIndex: 1, device: gpu(0) },
      { name: "g_0_gpu2", groupIndex: 1, device: gpu(2) },
      { name: "g_1_gpu2", groupIndex: 1, device: gpu(2) },
      { name: "m_2_0", groupIndex: 2, device: { kind: "MODEL", id: -1 } },
      { name: "m_3_0_gpu1", groupIndex: 3, device: gpu(1) },
    ]);
    expect(plans.map(({ isPassive }) => isPassive).indexOf(true)).toBe(6);
    expect([0, 2, 6, 7].map((index) => plans[index]?.hostPolicy)).toEqual([
      "cpu",
      "near",
      "model",
      "gpu_1",
    ]);
  });
});
