import { create } from "@bufbuild/protobuf";
import {
  type ModelStreamInferResponse,
  ModelStreamInferResponseSchema,
} from "#gen/inference/grpc_service_pb.ts";
import type { InferenceError } from "../../../base/error.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";
import type { Parameters } from "../../../core/request/request-signature.ts";
import type { InferRequestForm } from "./infer-request-form.ts";
import { streamMessageFrame, streamResponseFrame } from "./infer-response-bytes.ts";
import { inferResponseMessage } from "./infer-response-message.ts";
import { FINAL_RESPONSE_PARAMETER, parametersMessage } from "./response-parameters.ts";

/** Makes the answers of a stream, in the form that its carrier sends: frames, or messages. */
export interface StreamAnswers<T> {
  /** Copies the tensors' bytes. @throws InferenceError INTERNAL when it is longer than gRPC allows. */
  response(response: InferenceResponse, form: InferRequestForm, isFinal: boolean): T;
  /** A request that did not get as far as an execution: text and id. */
  refusal(error: InferenceError, id: string): T;
  /** An error of an execution: text, id, and the model as the request named it. */
  failure(error: InferenceError, form: InferRequestForm, id: string, isFinal: boolean): T;
  /** The end of a decoupled request as a response of its own. */
  emptyFinal(form: InferRequestForm, id: string): T;
}

function finalParameter(isFinal: boolean): Parameters {
  return new Map([[FINAL_RESPONSE_PARAMETER, { kind: "bool", value: isFinal }]]);
}

function refusalInit(error: InferenceError, id: string) {
  return { errorMessage: error.message, inferResponse: { id } };
}

function failureInit(
  error: InferenceError,
  { modelName, modelVersion }: InferRequestForm,
  id: string,
  isFinal: boolean,
) {
  const parameters = parametersMessage(finalParameter(isFinal));
  return {
    errorMessage: error.message,
    inferResponse: { id, modelName, modelVersion, parameters },
  };
}

function emptyFinalInit({ modelName, modelVersion }: InferRequestForm, id: string) {
  const parameters = parametersMessage(finalParameter(true));
  return { inferResponse: { id, modelName, modelVersion, parameters } };
}

/** Answers as gRPC frames, ready to be sent. */
export const STREAM_FRAMES: StreamAnswers<Buffer> = {
  response: streamResponseFrame,
  refusal: (error, id) => streamMessageFrame(refusalInit(error, id)),
  failure: (error, form, id, isFinal) => streamMessageFrame(failureInit(error, form, id, isFinal)),
  emptyFinal: (form, id) => streamMessageFrame(emptyFinalInit(form, id)),
};

/** Answers as messages, for ConnectRPC. */
export const STREAM_MESSAGES: StreamAnswers<ModelStreamInferResponse> = {
  response: (response, _form, isFinal) =>
    create(ModelStreamInferResponseSchema, {
      inferResponse: inferResponseMessage(response, finalParameter(isFinal)),
    }),
  refusal: (error, id) => create(ModelStreamInferResponseSchema, refusalInit(error, id)),
  failure: (error, form, id, isFinal) =>
    create(ModelStreamInferResponseSchema, failureInit(error, form, id, isFinal)),
  emptyFinal: (form, id) => create(ModelStreamInferResponseSchema, emptyFinalInit(form, id)),
};
