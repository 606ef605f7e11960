import { create } from "@bufbuild/protobuf";
import {
  ModelConfigSchema,
  ModelInstanceGroup_Kind,
  ModelInstanceGroupSchema,
} from "#gen/inference/model_config_pb.ts";
import type { OpenModelOptions } from "../../src/core/backend/backend.ts";
import { configToBytes } from "../../src/core/config/config-bytes.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type { RequestAnswers } from "../../src/core/request/request-answers.ts";
import { type SampleTensor, sampleConfig } from "./sample-config.ts";

/** What {@link identityConfig} fills up: the same tensors in and out, by position. */
export interface IdentityFields {
  readonly tensors: readonly Omit<SampleTensor, "name">[];
  readonly maxBatchSize?: number;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly groups?: readonly { name: string; count: number; passive?: boolean }[];
}

/** A configuration for the identity backend, one CPU instance where nothing is said. */
export function identityConfig(fields: IdentityFields): ModelConfig {
  const named = (prefix: string) =>
    fields.tensors.map((tensor, i) => ({ ...tensor, name: `${prefix}${i}` }));
  const config = sampleConfig({
    name: "echo",
    maxBatchSize: fields.maxBatchSize ?? 0,
    inputs: named("INPUT"),
    outputs: named("OUTPUT"),
  });
  const parameters = Object.entries(fields.parameters ?? {}).map(
    ([key, stringValue]) => [key, { stringValue }] as const,
  );
  const message = create(ModelConfigSchema, {
    name: "echo",
    backend: "identity",
    parameters: Object.fromEntries(parameters),
    instanceGroup: (fields.groups ?? [{ name: "echo_0", count: 1 }]).map((group) =>
      create(ModelInstanceGroupSchema, { ...group, kind: ModelInstanceGroup_Kind.CPU }),
    ),
  });
  return { ...config, message, backend: "identity" };
}

/** How the model of such a configuration is opened. */
export function openOptions(config: ModelConfig): OpenModelOptions {
  return {
    modelName: config.name,
    modelVersion: "1",
    modelDirectory: "/nowhere",
    versionDirectory: "/nowhere/1",
    config: configToBytes(config.message),
    device: { kind: "CPU", id: -1 },
    backendConfig: {},
    libraryPaths: {},
  };
}

/** For instances that return joined outputs: they must not touch it. */
export const NO_ANSWERS: RequestAnswers = {
  respond: () => refuseAnswer(),
  fail: () => refuseAnswer(),
  complete: () => refuseAnswer(),
  reschedule: () => refuseAnswer(),
};

function refuseAnswer(): never {
  throw new Error("an instance with joined outputs answered a request by itself");
}
