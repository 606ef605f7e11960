import type { DescField } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { enumName } from "./field-words.ts";

/**
 * 64-bit fields that are printed as numbers. proto3 JSON prints 64-bit numbers as strings, and the others stay so.
 * Known from Triton's replies; keys are message (without package) and field.
 */
const NUMBERS: ReadonlySet<string> = new Set([
  "ModelInput.dims",
  "ModelOutput.dims",
  "ModelTensorReshape.shape",
  "ModelVersionPolicy.Specific.versions",
  "ModelDynamicBatching.max_queue_delay_microseconds",
  "ModelDynamicBatching.priority_levels",
  "ModelDynamicBatching.default_priority_level",
  "ModelQueuePolicy.default_timeout_microseconds",
  "ModelSequenceBatching.max_sequence_idle_microseconds",
  "ModelSequenceBatching.StrategyOldest.max_queue_delay_microseconds",
  "ModelSequenceBatching.StrategyDirect.max_queue_delay_microseconds",
  "ModelSequenceBatching.State.dims",
  "ModelEnsembling.Step.model_version",
  "ModelWarmup.Input.dims",
]);

/**
 * The JSON text of `/v2/models/<model>/config`, which Python models get as well: fields in the order of their
 * declaration, snake_case names, every scalar, enum, list and map even when empty, sub-messages and members of
 * oneofs only when set; compact.
 */
export function configToJson(message: ModelConfigMessage): string {
  return messageJson(reflect(ModelConfigSchema, message));
}

function messageJson(message: ReflectMessage): string {
  const members: string[] = [];
  for (const field of message.desc.fields) {
    const isOptional = field.fieldKind === "message" || field.oneof !== undefined;
    if (isOptional && !message.isSet(field)) continue;
    members.push(`${JSON.stringify(field.name)}:${fieldJson(message, field)}`);
  }
  return `{${members.join(",")}}`;
}

function fieldJson(message: ReflectMessage, field: DescField): string {
  switch (field.fieldKind) {
    case "message":
      return messageJson(message.get(field));
    case "enum":
      return JSON.stringify(enumName(field.enum, message.get(field)));
    case "scalar":
      return scalarJson(message.get(field), field.scalar, field);
    case "list": {
      const elements: string[] = [];
      for (const element of message.get(field)) elements.push(valueJson(element, field));
      return `[${elements.join(",")}]`;
    }
    case "map": {
      const members: string[] = [];
      for (const [key, value] of message.get(field)) {
        members.push(`${JSON.stringify(String(key))}:${valueJson(value, field)}`);
      }
      return `{${members.join(",")}}`;
    }
  }
}

type ManyField = DescField & { readonly fieldKind: "list" | "map" };

/** One element of a list, or one value of a map. */
function valueJson(value: unknown, field: ManyField): string {
  if (field.message !== undefined) return messageJson(value as ReflectMessage);
  if (field.enum !== undefined) return JSON.stringify(enumName(field.enum, value as number));
  return scalarJson(value, field.scalar, field);
}

function scalarJson(value: unknown, type: ScalarType | undefined, field: DescField): string {
  if (typeof value === "bigint") {
    const name = `${field.parent.typeName.replace("inference.", "")}.${field.name}`;
    return NUMBERS.has(name) ? String(value) : `"${value}"`;
  }
  if (typeof value !== "number") return JSON.stringify(value);
  if (!Number.isFinite(value)) return `"${value}"`;
  return type === ScalarType.FLOAT ? shortestFloat(value) : String(value);
}

/** The fewest digits that still read as the same 32-bit float. */
function shortestFloat(value: number): string {
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}
