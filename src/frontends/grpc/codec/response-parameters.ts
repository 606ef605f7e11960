import type { InferParameter } from "#gen/inference/grpc_service_pb.ts";
import type { Parameters, ParameterValue } from "../../../core/request/request-signature.ts";

/** The parameter that tells, on every response of a stream, whether it is its request's last. */
export const FINAL_RESPONSE_PARAMETER = "triton_final_response";

type Choice = Exclude<InferParameter["parameterChoice"], { case: undefined }>;

function choiceOf(value: ParameterValue): Choice {
  switch (value.kind) {
    case "bool":
      return { case: "boolParam", value: value.value };
    case "int64":
      return { case: "int64Param", value: value.value };
    case "string":
      return { case: "stringParam", value: value.value };
    default:
      return { case: "doubleParam", value: value.value };
  }
}

/** Parameters of a response as the message has them. */
export function parametersMessage(
  parameters: Parameters,
): Record<string, { parameterChoice: Choice }> {
  const map: Record<string, { parameterChoice: Choice }> = {};
  for (const [name, value] of parameters) map[name] = { parameterChoice: choiceOf(value) };
  return map;
}
