import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { nearestName } from "../../base/nearest-name.ts";

const SCALAR_WORDS: Partial<Record<ScalarType, string>> = {
  [ScalarType.BOOL]: "true or false",
  [ScalarType.STRING]: "a string in quotes",
  [ScalarType.INT32]: "an integer from -2147483648 to 2147483647",
  [ScalarType.UINT32]: "an integer from 0 to 4294967295",
  [ScalarType.INT64]: "an integer from -9223372036854775808 to 9223372036854775807",
  [ScalarType.UINT64]: "an integer from 0 to 18446744073709551615",
  [ScalarType.FLOAT]: "a number",
  [ScalarType.DOUBLE]: "a number",
};

/** What a scalar may be, for messages. */
export function scalarWords(type: ScalarType): string {
  return SCALAR_WORDS[type] ?? "a value";
}

/** What one value of a field may be (one element of a list, one entry of a map), for messages. */
export function valueWords(field: DescField): string {
  switch (field.fieldKind) {
    case "scalar":
      return scalarWords(field.scalar);
    case "enum":
      return oneOf(field.enum.values.map((value) => value.name));
    case "message":
      return `a block { … } of ${shortName(field.message)}`;
    case "map":
      return "an entry { key: … value: … }";
    case "list":
      if (field.listKind === "scalar") return scalarWords(field.scalar);
      if (field.listKind === "enum") return oneOf(field.enum.values.map((value) => value.name));
      return `a block { … } of ${shortName(field.message)}`;
  }
}

/** The sentence about a field name that a message does not have: which one was meant, or which there are. */
export function unknownFieldWords(name: string, message: DescMessage): string {
  const names = message.fields.map((field) => field.name);
  const nearest = nearestName(name, names);
  const hint =
    nearest === undefined ? `allowed are ${names.join(", ")}` : `did you mean '${nearest}'?`;
  return `unknown field '${name}' in ${shortName(message)}; ${hint}`;
}

/** The sentence about an enum value that there is not. */
export function unknownEnumWords(found: string, field: DescField): string {
  const names = field.enum?.values.map((value) => value.name) ?? [];
  const nearest = nearestName(found, names);
  const hint = nearest === undefined ? "" : ` (did you mean '${nearest}'?)`;
  return `found ${found}${hint}, expected ${oneOf(names)}`;
}

/** Name of an enum value; its number where it has none. */
export function enumName(description: DescEnum, value: number): string {
  return description.value[value]?.name ?? String(value);
}

/** `ModelSequenceBatching.Control` of `inference.ModelSequenceBatching.Control`. */
export function shortName(message: DescMessage): string {
  return message.typeName.replace(/^inference\./, "");
}

function oneOf(words: readonly string[]): string {
  return words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
}
