import { create, toBinary } from "@bufbuild/protobuf";
import {
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from "#gen/inference/grpc_service_pb.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";
import { FRAME_PREFIX_BYTES, frameOf } from "./grpc-frame.ts";
import type { InferRequestForm } from "./infer-request-form.ts";
import { InferResponseTemplate } from "./infer-response-template.ts";
import { fieldBytes, ProtobufWriter, varintBytes } from "./protobuf-writer.ts";
import { FINAL_RESPONSE_PARAMETER, parametersMessage } from "./response-parameters.ts";

/** One-byte tags of the length-delimited fields that are written by hand. */
const RESPONSE_TAG = { id: 0x1a, rawOutputContents: 0x32 } as const;
const STREAM_RESPONSE_TAG = { inferResponse: 0x12 } as const;
const NO_BYTES = new Uint8Array(0);

function parameterFields(parameters: InferenceResponse["parameters"]): Uint8Array {
  return toBinary(
    ModelInferResponseSchema,
    create(ModelInferResponseSchema, { parameters: parametersMessage(parameters) }),
  );
}

const FINAL_FIELDS = {
  true: parameterFields(new Map([[FINAL_RESPONSE_PARAMETER, { kind: "bool", value: true }]])),
  false: parameterFields(new Map([[FINAL_RESPONSE_PARAMETER, { kind: "bool", value: false }]])),
} as const;

/** Sizes of the parts of one response, added up once and written after. */
interface ResponseParts {
  readonly response: InferenceResponse;
  readonly template: InferResponseTemplate;
  readonly idBytes: number;
  readonly parameterFields: Uint8Array;
  readonly extraFields: Uint8Array;
  /** Of the whole ModelInferResponse. */
  readonly byteCount: number;
}

function partsOf(
  response: InferenceResponse,
  form: InferRequestForm,
  extraFields: Uint8Array,
): ResponseParts {
  let template = form.responseTemplate;
  if (template === undefined || !template.fits(response)) {
    template = new InferResponseTemplate(response);
    form.responseTemplate = template;
  }
  const { id, parameters, outputs } = response;
  const idBytes = id === "" ? 0 : Buffer.byteLength(id);
  const own = parameters.size === 0 ? NO_BYTES : parameterFields(parameters);
  let byteCount =
    template.modelFields.length + own.length + extraFields.length + template.outputFields.length;
  if (idBytes > 0) byteCount += fieldBytes(idBytes);
  for (let i = 0; i < outputs.length; i++) byteCount += fieldBytes(outputs[i]?.bytes.length ?? 0);
  return { response, template, idBytes, parameterFields: own, extraFields, byteCount };
}

function writeResponse(writer: ProtobufWriter, parts: ResponseParts): void {
  const { response, template, idBytes } = parts;
  writer.raw(template.modelFields);
  if (idBytes > 0) writer.text(RESPONSE_TAG.id, response.id, idBytes);
  if (parts.parameterFields.length > 0) writer.raw(parts.parameterFields);
  if (parts.extraFields.length > 0) writer.raw(parts.extraFields);
  writer.raw(template.outputFields);
  const { outputs } = response;
  for (let i = 0; i < outputs.length; i++) {
    const output = outputs[i];
    if (output) writer.field(RESPONSE_TAG.rawOutputContents, output.bytes);
  }
}

/**
 * A ModelInferResponse as one gRPC frame. The tensors' bytes are copied here, and only here.
 *
 * @param form keeps the description of the outputs for the next answer of the same form.
 * @throws InferenceError INTERNAL when the message would be longer than gRPC allows.
 */
export function inferResponseFrame(response: InferenceResponse, form: InferRequestForm): Buffer {
  const parts = partsOf(response, form, NO_BYTES);
  const frame = frameOf(parts.byteCount);
  const writer = new ProtobufWriter(frame);
  writer.at = FRAME_PREFIX_BYTES;
  writeResponse(writer, parts);
  return frame;
}

/** The same inside a ModelStreamInferResponse, with the parameter `triton_final_response`. @throws the same. */
export function streamResponseFrame(
  response: InferenceResponse,
  form: InferRequestForm,
  isFinal: boolean,
): Buffer {
  const parts = partsOf(response, form, FINAL_FIELDS[`${isFinal}`]);
  const frame = frameOf(1 + varintBytes(parts.byteCount) + parts.byteCount);
  const writer = new ProtobufWriter(frame);
  writer.at = FRAME_PREFIX_BYTES;
  frame[writer.at++] = STREAM_RESPONSE_TAG.inferResponse;
  writer.varint(parts.byteCount);
  writeResponse(writer, parts);
  return frame;
}

/** A ModelStreamInferResponse without tensors: an error, or the mark of the end. */
export function streamMessageFrame(
  message: Parameters<typeof create<typeof ModelStreamInferResponseSchema>>[1],
): Buffer {
  const bytes = toBinary(
    ModelStreamInferResponseSchema,
    create(ModelStreamInferResponseSchema, message),
  );
  const frame = frameOf(bytes.length);
  frame.set(bytes, FRAME_PREFIX_BYTES);
  return frame;
}
