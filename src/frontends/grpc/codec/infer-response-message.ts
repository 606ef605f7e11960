import { create } from "@bufbuild/protobuf";
import {
  type ModelInferResponse,
  ModelInferResponseSchema,
} from "#gen/inference/grpc_service_pb.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";
import type { Parameters } from "../../../core/request/request-signature.ts";
import { outputMessage } from "./infer-response-template.ts";
import { parametersMessage } from "./response-parameters.ts";

/**
 * A response as a message, for the rpcs that ConnectRPC carries. Copies the tensors' bytes.
 *
 * @param extra parameters besides the model's own.
 */
export function inferResponseMessage(
  response: InferenceResponse,
  extra?: Parameters,
): ModelInferResponse {
  const { modelName, modelVersion, id, parameters, outputs } = response;
  return create(ModelInferResponseSchema, {
    modelName,
    modelVersion,
    id,
    parameters: { ...parametersMessage(parameters), ...(extra && parametersMessage(extra)) },
    outputs: outputs.map(outputMessage),
    rawOutputContents: outputs.map(({ bytes }) => bytes.slice()),
  });
}
