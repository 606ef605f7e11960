import type { ModelInferRequest } from "#gen/inference/grpc_service_pb.ts";
import { isDatatype } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import {
  type InputDescription,
  type RequestedOutput,
  RequestSignature,
} from "../../../core/request/request-signature.ts";
import type { InferResponseTemplate } from "./infer-response-template.ts";
import { readRequestParameters } from "./request-parameters.ts";
import { classificationCountOf, refuseSharedMemory } from "./tensor-parameters.ts";
import { bytesFromContents } from "./typed-contents.ts";

/** What all requests of one form share: everything that a ModelInferRequest says but its id and its data. */
export interface InferRequestForm {
  readonly modelName: string;
  /** As the request gives it; "" lets the server choose. */
  readonly modelVersion: string;
  readonly signature: RequestSignature;
  readonly wantsEmptyFinalResponse: boolean;
  /** The last response's description, ready made; answers to requests of one form mostly look alike. */
  responseTemplate: InferResponseTemplate | undefined;
}

function inputOf(input: ModelInferRequest["inputs"][number], modelName: string): InputDescription {
  const { name, datatype, shape, parameters } = input;
  if (!isDatatype(datatype)) {
    throw new InferenceError(
      "INVALID_ARG",
      `inference input '${name}' for model '${modelName}' has the unknown data-type '${datatype}'`,
    );
  }
  refuseSharedMemory("input", name, parameters);
  return { name, datatype, shape: shape.map(Number) };
}

function outputOf({ name, parameters }: ModelInferRequest["outputs"][number]): RequestedOutput {
  refuseSharedMemory("output", name, parameters);
  return { name, classificationCount: classificationCountOf(name, parameters) };
}

/**
 * Reads everything but id and data out of a request.
 *
 * @throws InferenceError INVALID_ARG naming the parameter or tensor; UNSUPPORTED for shared memory.
 */
export function formFromMessage(message: ModelInferRequest): InferRequestForm {
  const { modelName, modelVersion } = message;
  const { wantsEmptyFinalResponse, ...parameters } = readRequestParameters(message.parameters);
  return {
    modelName,
    modelVersion,
    signature: new RequestSignature({
      ...parameters,
      inputs: message.inputs.map((input) => inputOf(input, modelName)),
      outputs: message.outputs.map(outputOf),
    }),
    wantsEmptyFinalResponse,
    responseTemplate: undefined,
  };
}

/**
 * The data of each input: views of `raw_input_contents`, or typed contents turned into bytes.
 *
 * @throws InferenceError INVALID_ARG naming the input without data, with both kinds, or with the wrong kind.
 */
export function inputBytesFromMessage(
  message: ModelInferRequest,
  { signature }: InferRequestForm,
): readonly Uint8Array[] {
  const { modelName, rawInputContents } = message;
  const isRaw = rawInputContents.length > 0;
  const inputBytes = message.inputs.map(({ name, contents }, i) => {
    if (isRaw && contents) {
      throw new InferenceError(
        "INVALID_ARG",
        `contents field must not be specified when using raw_input_contents for '${name}' for model '${modelName}'`,
      );
    }
    const raw = rawInputContents[i];
    if (raw) return raw;
    const datatype = signature.inputs[i]?.datatype;
    if (!contents || !datatype) {
      throw new InferenceError(
        "INVALID_ARG",
        `unable to find data for input tensor '${name}' for model '${modelName}' in request.`,
      );
    }
    return bytesFromContents(contents, datatype, name, modelName);
  });
  if (rawInputContents.length > inputBytes.length) {
    throw new InferenceError(
      "INVALID_ARG",
      `unexpected number of raw_input_contents for model '${modelName}': expected ${inputBytes.length}, ` +
        `one for each input, got ${rawInputContents.length}`,
    );
  }
  return inputBytes;
}
