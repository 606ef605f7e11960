import { create, fromJson } from "@bufbuild/protobuf";
import { fromText } from "@bufbuild/protobuf/txtpb";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../base/error.ts";
import { checkConfigJson } from "./check-config-json.ts";
import { checkConfigText } from "./check-config-text.ts";
import { tokenizeConfigText } from "./config-text-tokens.ts";
import { findJsonFault } from "./json-fault.ts";

/** A configuration as its author wrote it: nothing filled in, nothing checked but types and names. */
export interface ParsedConfig {
  readonly message: ModelConfigMessage;
  /**
   * Fields of the outermost message that were written, in snake_case. Tells a written zero from nothing, which the
   * message cannot: completion must leave `max_batch_size: 0` alone.
   */
  readonly givenFields: ReadonlySet<string>;
  /** Where it came from, for messages: a path, or words. */
  readonly source: string;
}

/** The configuration of a model that has none: everything is left to completion. */
export function emptyConfig(source: string): ParsedConfig {
  return { message: create(ModelConfigSchema), givenFields: new Set(), source };
}

/**
 * Reads the protobuf text format of config.pbtxt.
 *
 * @param source path of the file, for messages.
 * @throws InferenceError INVALID_ARG with path, line, column, field, what was found and what may stand there.
 */
export function parseConfigText(text: string, source: string): ParsedConfig {
  const tokenized = tokenizeConfigText(text);
  const { fault, givenFields } = checkConfigText(tokenized, ModelConfigSchema);
  if (fault !== undefined) {
    const field = fault.path === "" ? "" : `${fault.path}: `;
    throw unreadable(
      "text proto",
      `${source}:${fault.line}:${fault.column}: ${field}${fault.message}`,
    );
  }
  // Not the text itself: a number that touches the next word, or a sign apart from its number, is read by Triton's
  // parser and not by the library. Single spaces between the tokens make them alike.
  const spaced = tokenized.tokens.map((token) => (token.text === "-" ? "-" : `${token.text} `));
  try {
    return { message: fromText(ModelConfigSchema, spaced.join("")), givenFields, source };
  } catch (thrown) {
    throw unreadable("text proto", `${source}: ${messageOf(thrown)}`, thrown);
  }
}

/**
 * Reads the JSON form: of `config.json`, and of the `config` parameter of a load request.
 *
 * @param source path of the file, or words for messages.
 * @throws InferenceError INVALID_ARG with the source and every fault, each with the path of its field.
 */
export function parseConfigJson(text: string, source: string): ParsedConfig {
  let value: unknown;
  try {
    // A number beyond 2^53 keeps its digits by becoming a string, which 64-bit fields take as well.
    value = JSON.parse(text, (_key, member: unknown, context?: { readonly source?: string }) =>
      typeof member === "number" && Number.isInteger(member) && !Number.isSafeInteger(member)
        ? (context?.source ?? member)
        : member,
    );
  } catch (thrown) {
    const place = findJsonFault(text);
    const at = place === undefined ? source : `${source}:${place.line}:${place.column}`;
    throw unreadable("JSON", `${at}: ${messageOf(thrown)}`, thrown);
  }
  return fromDocument(value, source, "JSON");
}

/**
 * Reads the same schema from YAML (`config.yaml`).
 * @throws InferenceError INVALID_ARG like {@link parseConfigJson}.
 */
export function parseConfigYaml(text: string, source: string): ParsedConfig {
  let value: unknown;
  try {
    value = Bun.YAML.parse(text);
  } catch (thrown) {
    const at = `${source}: ${readableLines(text)}`;
    throw unreadable("YAML", `${at}: ${messageOf(thrown)}`, thrown);
  }
  // A file of comments alone is as good as an empty one.
  return fromDocument(value ?? {}, source, "YAML");
}

function fromDocument(value: unknown, source: string, form: string): ParsedConfig {
  const { json, faults, givenFields } = checkConfigJson(value, ModelConfigSchema);
  if (faults.length > 0) throw unreadable(form, `${source}: ${faults.join("; ")}`);
  try {
    return { message: fromJson(ModelConfigSchema, json), givenFields, source };
  } catch (thrown) {
    throw unreadable(form, `${source}: ${messageOf(thrown)}`, thrown);
  }
}

/** The YAML parser tells no place; the longest readable start of the document bounds it. */
function readableLines(text: string): string {
  const lines = text.split("\n").slice(0, 2000);
  for (let count = lines.length - 1; count > 0; count--) {
    try {
      Bun.YAML.parse(lines.slice(0, count).join("\n"));
      return `readable up to line ${count}`;
    } catch {
      // Not yet short enough.
    }
  }
  return "line 1";
}

function unreadable(form: string, detail: string, cause?: unknown): InferenceError {
  return new InferenceError("INVALID_ARG", `failed to read ${form} from ${detail}`, { cause });
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
