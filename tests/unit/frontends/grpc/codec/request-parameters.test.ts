import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { type InferParameter, InferParameterSchema } from "#gen/inference/grpc_service_pb.ts";
import { readRequestParameters } from "../../../../../src/frontends/grpc/codec/request-parameters.ts";

type Choice = InferParameter["parameterChoice"];

function read(choices: Readonly<Record<string, Choice>>) {
  return readRequestParameters(
    Object.fromEntries(
      Object.entries(choices).map(([name, parameterChoice]) => [
        name,
        create(InferParameterSchema, { parameterChoice }),
      ]),
    ),
  );
}

const bool: Choice = { case: "boolParam", value: true };
const int64: Choice = { case: "int64Param", value: 5n };
const uint64: Choice = { case: "uint64Param", value: 5n };
const string: Choice = { case: "stringParam", value: "x" };
const double: Choice = { case: "doubleParam", value: 0.5 };

describe("request parameters", () => {
  test("of the server are taken out, others are left for the model", () => {
    const parameters = read({
      sequence_id: int64,
      sequence_start: bool,
      sequence_end: bool,
      priority: uint64,
      timeout: int64,
      triton_enable_empty_final_response: bool,
      mine: double,
    });
    expect(parameters).toEqual({
      parameters: new Map([["mine", { kind: "double", value: 0.5 }]]),
      priority: 5,
      timeoutMicroseconds: 5,
      sequenceId: 5n,
      sequenceStart: true,
      sequenceEnd: true,
      wantsEmptyFinalResponse: true,
    });
  });

  test("may give the sequence a name, and the priority as int64", () => {
    expect(read({ sequence_id: string, priority: int64 })).toMatchObject({
      sequenceId: "x",
      priority: 5,
    });
  });

  test.each<[string, Choice, string]>([
    ["sequence_id", uint64, "int64_param or string_param"],
    ["sequence_id", bool, "int64_param or string_param"],
    ["sequence_start", int64, "bool_param"],
    ["sequence_end", string, "bool_param"],
    ["priority", string, "uint64_param"],
    ["priority", { case: "int64Param", value: -1n }, "uint64_param"],
    ["timeout", uint64, "int64_param"],
    ["triton_enable_empty_final_response", string, "bool_param"],
    ["mine", uint64, "bool_param, int64_param, string_param or double_param"],
    ["mine", { case: undefined }, "bool_param, int64_param, string_param or double_param"],
  ])("named %s are refused with a value of the wrong kind %#", (name, choice, expected) => {
    expect(() => read({ [name]: choice })).toThrow(
      `invalid value type for '${name}' parameter, expected ${expected}.`,
    );
  });

  test("of the reserved prefix are refused by name", () => {
    expect(() => read({ triton_x: bool })).toThrow("got 'triton_x'");
  });
});
