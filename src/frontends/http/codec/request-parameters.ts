import { InferenceError } from "../../../base/error.ts";
import type { Parameters, ParameterValue } from "../../../core/request/request-signature.ts";
import { NO_PARAMETERS } from "../../../core/request/request-signature.ts";
import { RESERVED_PARAMETER_PREFIX } from "../../reserved-parameters.ts";
import {
  expectKind,
  KIND_WORDS,
  readBooleanMember,
  readSizeMember,
  readUnsignedMember,
} from "./json-members.ts";
import type { JsonReader } from "./json-reader.ts";

const MAX_INT64 = 0x7fffffffffffffffn;
const MIN_INT64 = -0x8000000000000000n;

/**
 * A custom parameter: JSON string, boolean, integer (int64) or other number (double).
 *
 * @throws InferenceError INVALID_ARG for compound values and null.
 */
export function readParameterValue(reader: JsonReader, key: string): ParameterValue {
  const kind = reader.peek();
  switch (kind) {
    case "string":
      return { kind: "string", value: reader.string() };
    case "true":
    case "false":
      return { kind: "bool", value: reader.boolean() };
    case "number": {
      const text = reader.number();
      if (reader.isInteger && text.length <= 20) {
        const value = BigInt(text);
        if (value >= MIN_INT64 && value <= MAX_INT64) return { kind: "int64", value };
      }
      return { kind: "double", value: Number(text) };
    }
    default:
      throw new InferenceError(
        "INVALID_ARG",
        `parameter '${key}' must be a string, a boolean or a number, got ${KIND_WORDS[kind]}`,
      );
  }
}

/** Refuses parameter names that belong to the server. */
export function checkParameterName(key: string): void {
  if (!key.startsWith(RESERVED_PARAMETER_PREFIX)) return;
  throw new InferenceError(
    "INVALID_ARG",
    `parameter '${key}' is reserved: names that begin with '${RESERVED_PARAMETER_PREFIX}' cannot be set by a request`,
  );
}

/** What the `parameters` object of a request says. */
export interface RequestParameters {
  /** Custom parameters only. */
  readonly parameters: Parameters;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  /** Default form of outputs when the request lists none. */
  readonly isBinaryByDefault: boolean;
}

/** A request without `parameters`. */
export const NO_REQUEST_PARAMETERS: RequestParameters = {
  parameters: NO_PARAMETERS,
  priority: 0,
  timeoutMicroseconds: 0,
  sequenceId: 0n,
  sequenceStart: false,
  sequenceEnd: false,
  isBinaryByDefault: false,
};

/**
 * Reads the `parameters` of a request: those the server knows, and custom ones for the model.
 *
 * @throws InferenceError INVALID_ARG naming the parameter.
 */
export function readRequestParameters(reader: JsonReader): RequestParameters {
  expectKind(reader, "object", "parameters");
  const custom = new Map<string, ParameterValue>();
  const known = { ...NO_REQUEST_PARAMETERS };
  const result: { -readonly [key in keyof RequestParameters]: RequestParameters[key] } = known;
  reader.object((key) => {
    switch (key) {
      case "sequence_id":
        result.sequenceId =
          reader.peek() === "string" ? reader.string() : readUnsignedMember(reader, key);
        break;
      case "sequence_start":
        result.sequenceStart = readBooleanMember(reader, key);
        break;
      case "sequence_end":
        result.sequenceEnd = readBooleanMember(reader, key);
        break;
      case "priority":
        result.priority = readSizeMember(reader, key);
        break;
      case "timeout":
        result.timeoutMicroseconds = readSizeMember(reader, key);
        break;
      case "binary_data_output":
        result.isBinaryByDefault = readBooleanMember(reader, key);
        break;
      default:
        checkParameterName(key);
        custom.set(key, readParameterValue(reader, key));
    }
  });
  if (custom.size > 0) result.parameters = custom;
  return result;
}
