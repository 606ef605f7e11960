import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { fromJson, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { scalarWords, unknownEnumWords, unknownFieldWords, valueWords } from "./field-words.ts";

/** Outcome of {@link checkConfigJson}. */
export interface ConfigJsonCheck {
  /** The same document with enum names in the spelling that the protobuf library wants. Only without faults. */
  readonly json: JsonValue;
  /** All of them, each with the path of its field. */
  readonly faults: readonly string[];
  /** Fields of the outermost message that were written, whatever their values, in snake_case. */
  readonly givenFields: ReadonlySet<string>;
}

/**
 * Looks for everything that is wrong with a configuration in JSON form: proto3 JSON, field names in snake_case or
 * lowerCamelCase, enum names in any case, no unknown field, no unknown enum value, 64-bit numbers as strings too.
 *
 * @param value what JSON or YAML was parsed to.
 */
export function checkConfigJson(value: unknown, root: DescMessage): ConfigJsonCheck {
  const checker = new JsonChecker();
  const json = checker.checkMessage(value, root, "");
  return { json, faults: checker.faults, givenFields: checker.givenFields };
}

class JsonChecker {
  readonly faults: string[] = [];
  readonly givenFields = new Set<string>();

  checkMessage(value: unknown, message: DescMessage, path: string): JsonValue {
    if (!isObject(value)) {
      this.#expected(path, "an object { … }", value);
      return {};
    }
    const json: Record<string, JsonValue> = {};
    for (const [key, member] of Object.entries(value)) {
      const field = message.fields.find(({ name, jsonName }) => name === key || jsonName === key);
      const memberPath = join(path, key);
      if (field === undefined) {
        this.faults.push(`${memberPath}: ${unknownFieldWords(key, message)}`);
      } else if (Object.hasOwn(json, field.name)) {
        this.faults.push(`${memberPath}: '${field.name}' is given twice`);
      } else if (member !== null) {
        if (path === "") this.givenFields.add(field.name);
        json[field.name] = this.#checkField(member, field, message, memberPath);
      }
    }
    this.#checkOneofs(json, message, path);
    return json;
  }

  #checkOneofs(json: object, message: DescMessage, path: string): void {
    for (const { fields } of message.oneofs) {
      const given = fields.filter(({ name }) => Object.hasOwn(json, name)).map(({ name }) => name);
      if (given.length < 2) continue;
      const members = fields.map(({ name }) => name).join(", ");
      const found = given.map((name) => `'${name}'`).join(" and ");
      this.faults.push(
        `${join(path, given[1] ?? "")}: found ${found}; at most one of ${members} may be given`,
      );
    }
  }

  #checkField(value: unknown, field: DescField, parent: DescMessage, path: string): JsonValue {
    switch (field.fieldKind) {
      case "message":
        return this.checkMessage(value, field.message, path);
      case "list":
        return this.#checkList(value, field, parent, path);
      case "map":
        return this.#checkMap(value, field, parent, path);
      case "enum":
      case "scalar":
        return this.#checkSingle(value, field, path, (json) => {
          fromJson(parent, { [field.name]: json });
        });
    }
  }

  #checkList(
    value: unknown,
    field: DescField & { readonly fieldKind: "list" },
    parent: DescMessage,
    path: string,
  ): JsonValue {
    if (!Array.isArray(value)) {
      this.#expected(path, "a list [ … ]", value);
      return [];
    }
    return value.map((element: unknown, index) => {
      const elementPath = `${path}[${index}]`;
      if (field.listKind === "message") {
        return this.checkMessage(element, field.message, elementPath);
      }
      return this.#checkSingle(element, field, elementPath, (json) => {
        fromJson(parent, { [field.name]: [json] });
      });
    });
  }

  #checkMap(
    value: unknown,
    field: DescField & { readonly fieldKind: "map" },
    parent: DescMessage,
    path: string,
  ): JsonValue {
    if (!isObject(value)) {
      const hint = Array.isArray(value)
        ? ' of the form { "<key>": <value> }, not a list of entries'
        : "";
      this.#expected(path, `an object${hint}`, value);
      return {};
    }
    const json: Record<string, JsonValue> = {};
    for (const [key, member] of Object.entries(value)) {
      const memberPath = `${path}[${JSON.stringify(key)}]`;
      if (!isRightKey(key, field, parent)) {
        this.#expected(memberPath, `${scalarWords(field.mapKey)} as key`, key);
      } else if (field.message !== undefined) {
        json[key] = this.checkMessage(member, field.message, memberPath);
      } else {
        json[key] = this.#checkSingle(member, field, memberPath, (single) => {
          fromJson(parent, { [field.name]: { [key]: single } });
        });
      }
    }
    return json;
  }

  /** @param tryIt lets the protobuf library read the value alone. */
  #checkSingle(
    value: unknown,
    field: DescField,
    path: string,
    tryIt: (json: JsonValue) => void,
  ): JsonValue {
    const words =
      field.fieldKind === "map" && field.scalar !== undefined
        ? scalarWords(field.scalar)
        : valueWords(field);
    if (!isScalar(value)) {
      this.#expected(path, words, value);
      return null;
    }
    if (field.enum !== undefined) return this.#checkEnum(value, field, path);
    try {
      tryIt(value);
    } catch {
      this.#expected(path, words, value);
    }
    return value;
  }

  #checkEnum(value: JsonValue, field: DescField, path: string): JsonValue {
    const found = field.enum?.values.find(({ name, number }) =>
      typeof value === "string" ? name.toLowerCase() === value.toLowerCase() : number === value,
    );
    if (found !== undefined) return found.name;
    this.faults.push(`${path}: ${unknownEnumWords(JSON.stringify(value), field)}`);
    return null;
  }

  #expected(path: string, expected: string, found: unknown): void {
    const place = path === "" ? "" : `${path}: `;
    this.faults.push(`${place}expected ${expected}, found ${describe(found)}`);
  }
}

/** Whether a key of a map is of the map's key type; the protobuf library judges it beside an empty value. */
function isRightKey(
  key: string,
  field: DescField & { readonly fieldKind: "map" },
  parent: DescMessage,
): boolean {
  if (field.mapKey === ScalarType.STRING) return true;
  try {
    fromJson(parent, { [field.name]: { [key]: field.message === undefined ? null : {} } });
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** A scalar as it is, of the rest only the kind: documents may be large. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  if (typeof value === "string" && value.length > 60)
    return `a string of ${value.length} characters`;
  return JSON.stringify(value) ?? String(value);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
