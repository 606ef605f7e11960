import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { fromText } from "@bufbuild/protobuf/txtpb";
import { scalarWords, unknownEnumWords, valueWords } from "./field-words.ts";

/** A map of the schema. */
export type MapField = DescField & { readonly fieldKind: "map" };

/** A value without blocks in it, which the protobuf library judges. */
export interface SingleValue {
  readonly path: string;
  /** The field whose message takes the value in the trial. */
  readonly field: DescField;
  readonly parent: DescMessage;
  /** Text around the value in the trial, for example `dims: ` and ``. */
  readonly before: string;
  readonly after: string;
  /** What the value may be. */
  readonly expected: string;
  readonly isEnum: boolean;
  readonly isString: boolean;
}

/** A value of a field, or an element of a repeated one. */
export function fieldValue(field: DescField, parent: DescMessage, path: string): SingleValue {
  return {
    path,
    field,
    parent,
    before: `${field.name}: `,
    after: "",
    expected: valueWords(field),
    isEnum: field.enum !== undefined,
    isString: field.scalar === ScalarType.STRING,
  };
}

/** The key of a map entry, or its value where that is no block. */
export function entryValue(
  field: MapField,
  parent: DescMessage,
  part: "key" | "value",
  path: string,
): SingleValue {
  const scalar = part === "key" ? field.mapKey : field.scalar;
  return {
    path,
    field,
    parent,
    before: `${field.name} { ${part}: `,
    after: " }",
    expected: scalar === undefined ? valueWords(field) : scalarWords(scalar),
    isEnum: scalar === undefined,
    isString: scalar === ScalarType.STRING,
  };
}

/**
 * Lets the protobuf library read the value in an otherwise empty message.
 *
 * @param text the value as written.
 * @returns what is wrong with it.
 */
export function faultOfValue(value: SingleValue, text: string): string | undefined {
  const isQuoted = /^["']/.test(text);
  try {
    const message = fromText(value.parent, `${value.before}${text}${value.after}`);
    const isKnown = value.isEnum ? isKnownEnum(reflect(value.parent, message), value.field) : true;
    return isKnown ? undefined : unknownEnumWords(text, value.field);
  } catch (thrown) {
    if (value.isEnum && !isQuoted) return unknownEnumWords(text, value.field);
    // Of a string where a string belongs only the library can tell what is wrong in it.
    const isContent = isQuoted && value.isString && thrown instanceof Error;
    const detail = isContent ? ` (${thrown.message})` : "";
    return `found ${text}${detail}, expected ${value.expected}`;
  }
}

/** proto3 enums are open, so the library takes any number; one that means nothing is a mistake all the same. */
function isKnownEnum(message: ReflectMessage, field: DescField): boolean {
  return field.fieldKind !== "enum" || field.enum.value[message.get(field)] !== undefined;
}
