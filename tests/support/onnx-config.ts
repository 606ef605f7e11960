import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type ModelConfig, ModelConfigSchema } from "#gen/inference/model_config_pb.ts";

/** A configuration message by its fields in protobuf's JSON form; the name is `m` where nothing is said. */
export function configMessage(fields: Readonly<JsonObject> = {}): ModelConfig {
  return fromJson(ModelConfigSchema, { name: "m", ...fields });
}

/** `parameters` of a configuration: `{key: {string_value: "…"}}` for each. */
export function parameters(values: Readonly<Record<string, string>>): JsonObject {
  const entries = Object.entries(values).map(([key, value]) => [key, { string_value: value }]);
  return { parameters: Object.fromEntries(entries) };
}
