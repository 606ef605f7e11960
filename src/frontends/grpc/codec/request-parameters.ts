import type { InferParameter } from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../../base/error.ts";
import {
  NO_PARAMETERS,
  type Parameters,
  type ParameterValue,
} from "../../../core/request/request-signature.ts";
import { RESERVED_PARAMETER_PREFIX } from "../../reserved-parameters.ts";

/** What the `parameters` of a request say: those the server knows, and custom ones for the model. */
export interface RequestParameters {
  /** Custom parameters only. */
  readonly parameters: Parameters;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  /** Streams only: the end of a decoupled request shows as a response of its own, without outputs. */
  readonly wantsEmptyFinalResponse: boolean;
}

/** The parameters of a message or tensor, as protobuf-es decodes a map. */
export type ParameterMap = Readonly<Record<string, InferParameter>>;

type Choice = InferParameter["parameterChoice"];

const CUSTOM_KINDS = "bool_param, int64_param, string_param or double_param";

function refuseKind(name: string, expected: string): never {
  throw new InferenceError(
    "INVALID_ARG",
    `invalid value type for '${name}' parameter, expected ${expected}.`,
  );
}

function booleanOf(name: string, choice: Choice): boolean {
  return choice.case === "boolParam" ? choice.value : refuseKind(name, "bool_param");
}

function sequenceIdOf(name: string, choice: Choice): bigint | string {
  if (choice.case === "int64Param") return BigInt.asUintN(64, choice.value);
  if (choice.case === "stringParam") return choice.value;
  return refuseKind(name, "int64_param or string_param");
}

/** Official clients send the priority as uint64, older ones as int64. */
function priorityOf(name: string, choice: Choice): number {
  if (choice.case === "uint64Param") return Number(choice.value);
  if (choice.case === "int64Param" && choice.value >= 0n) return Number(choice.value);
  return refuseKind(name, "uint64_param");
}

function timeoutOf(name: string, choice: Choice): number {
  if (choice.case === "int64Param" && choice.value >= 0n) return Number(choice.value);
  return refuseKind(name, "int64_param");
}

function customOf(name: string, choice: Choice): ParameterValue {
  switch (choice.case) {
    case "boolParam":
      return { kind: "bool", value: choice.value };
    case "int64Param":
      return { kind: "int64", value: choice.value };
    case "stringParam":
      return { kind: "string", value: choice.value };
    case "doubleParam":
      return { kind: "double", value: choice.value };
    default:
      return refuseKind(name, CUSTOM_KINDS);
  }
}

/**
 * Reads the `parameters` of a ModelInferRequest.
 *
 * @throws InferenceError INVALID_ARG naming the parameter and the kinds it may have; for the reserved prefix too.
 * @see Triton docs, "Parameters Extension": uint64 is the kind of `priority` alone.
 */
export function readRequestParameters(map: ParameterMap): RequestParameters {
  const custom = new Map<string, ParameterValue>();
  const read = {
    parameters: NO_PARAMETERS,
    priority: 0,
    timeoutMicroseconds: 0,
    sequenceId: 0n as bigint | string,
    sequenceStart: false,
    sequenceEnd: false,
    wantsEmptyFinalResponse: false,
  };
  for (const [name, { parameterChoice: choice }] of Object.entries(map)) {
    if (name === "sequence_id") read.sequenceId = sequenceIdOf(name, choice);
    else if (name === "sequence_start") read.sequenceStart = booleanOf(name, choice);
    else if (name === "sequence_end") read.sequenceEnd = booleanOf(name, choice);
    else if (name === "priority") read.priority = priorityOf(name, choice);
    else if (name === "timeout") read.timeoutMicroseconds = timeoutOf(name, choice);
    else if (name === "triton_enable_empty_final_response") {
      read.wantsEmptyFinalResponse = booleanOf(name, choice);
    } else if (name.startsWith(RESERVED_PARAMETER_PREFIX)) {
      throw new InferenceError(
        "INVALID_ARG",
        `parameter keys starting with '${RESERVED_PARAMETER_PREFIX}' are reserved for Triton usage; got '${name}', ` +
          "only 'triton_enable_empty_final_response' is allowed",
      );
    } else custom.set(name, customOf(name, choice));
  }
  if (custom.size > 0) read.parameters = custom;
  return read;
}
