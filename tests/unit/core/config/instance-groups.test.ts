import { describe, expect, test } from "bun:test";
import { ModelInstanceGroup_Kind as Kind } from "#gen/inference/model_config_pb.ts";
import { normalizeInstanceGroups } from "../../../../src/core/config/instance-groups.ts";
import { configMessage, refusalOf } from "../../../support/config-texts.ts";

type Row = readonly [name: string, kind: Kind, count: number, gpus: readonly number[]];

function groups(text: string, gpuCount = 0, backend = "onnxruntime"): Row[] {
  const message = configMessage(`name: "m" backend: "${backend}" ${text}`);
  normalizeInstanceGroups(message, { gpuCount });
  return message.instanceGroup.map(({ name, kind, count, gpus }) => [name, kind, count, gpus]);
}

function refusal(text: string, gpuCount = 0): string {
  return refusalOf(() => groups(text, gpuCount));
}

describe("normalizeInstanceGroups", () => {
  test("gives a model without groups one, named after the model", () => {
    expect(groups("")).toEqual([["m", Kind.CPU, 2, []]]);
    expect(groups("", 0, "python")).toEqual([["m", Kind.CPU, 1, []]]);
    expect(groups("", 2)).toEqual([["m", Kind.GPU, 1, [0, 1]]]);
  });

  test("refuses more instances than a machine can have", () => {
    expect(groups("instance_group [ { count: 1024 kind: KIND_CPU } ]")).toHaveLength(1);
    expect(refusal("instance_group [ { count: 1024 }, { count: 2147483647 } ]")).toContain(
      "model m asks for 2147484671 instances in all its instance groups, a model may have 1024",
    );
  });

  test("names groups by their place and keeps given names", () => {
    expect(
      groups('instance_group [ { name: "left" kind: KIND_CPU count: 1 }, { kind: KIND_CPU } ]'),
    ).toEqual([
      ["left", Kind.CPU, 1, []],
      ["m_1", Kind.CPU, 2, []],
    ]);
  });

  test.each([
    ["{ count: 3 }", 0, Kind.CPU, 3, []],
    ["{ count: 3 }", 2, Kind.GPU, 3, [0, 1]],
    ["{ gpus: 1 }", 2, Kind.GPU, 1, [1]],
    ["{ gpus: [ 0, 7 ] }", 2, Kind.CPU, 2, []],
    ["{ gpus: 0 }", 0, Kind.CPU, 2, []],
    ["{ kind: KIND_GPU }", 1, Kind.GPU, 1, [0]],
    ["{ kind: KIND_MODEL }", 1, Kind.MODEL, 1, []],
    ["{ kind: KIND_CPU count: -1 }", 1, Kind.CPU, 2, []],
  ] as const)("makes of %s on a machine with %i GPUs", (group, gpuCount, kind, count, gpus) => {
    expect(groups(`instance_group ${group}`, gpuCount)).toEqual([["m_0", kind, count, [...gpus]]]);
  });

  test.each([
    [
      "{ kind: KIND_CPU gpus: 0 }",
      "instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs",
    ],
    [
      "{ kind: KIND_MODEL gpus: 0 }",
      "instance group m_0 of model m has kind KIND_MODEL but specifies one or more GPUs",
    ],
    [
      "{ kind: KIND_GPU }",
      "instance group m_0 of model m has kind KIND_GPU but no GPUs are available",
    ],
    [
      "{ kind: KIND_GPU gpus: 0 }",
      "instance group m_0 of model m specifies invalid or unsupported gpu id 0. The GPUs of this machine are: none",
    ],
  ])("refuses %s on a machine without GPU", (group, expected) => {
    expect(refusal(`instance_group ${group}`)).toBe(expected);
  });

  test("tells all faults, and which GPUs there are", () => {
    expect(
      refusal(
        "instance_group [ { kind: KIND_GPU gpus: [ 1, 2 ] }, { kind: KIND_CPU gpus: 0 } ]",
        2,
      ),
    ).toBe(
      "instance group m_0 of model m specifies invalid or unsupported gpu id 2. The GPUs of this machine are: 0, 1; " +
        "instance group m_1 of model m has kind KIND_CPU but specifies one or more GPUs",
    );
  });

  test("leaves ensembles without instances", () => {
    const message = configMessage('platform: "ensemble"');
    normalizeInstanceGroups(message, { gpuCount: 1 });
    expect(message.instanceGroup).toEqual([]);
  });
});
