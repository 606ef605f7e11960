import { fromBinary } from "@bufbuild/protobuf";
import { type ModelInferRequest, ModelInferRequestSchema } from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../../base/error.ts";
import { RequestMemo } from "../../request-memo.ts";
import {
  formFromMessage,
  type InferRequestForm,
  inputBytesFromMessage,
} from "./infer-request-form.ts";
import { layoutOfInferRequest } from "./infer-request-layout.ts";

/** One memo is for all models. */
const GENERATION_FORM_COUNT = 512;

/** A request whose model can be looked up; {@link InferRequestDecoder.decode} reads the rest. */
export interface OpenedInferRequest {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  /** The form, where one of the same bytes was met before. */
  readonly form: InferRequestForm | undefined;
  /** The whole message where the form is not known yet. */
  readonly message: ModelInferRequest | undefined;
  /** Key under which the form is to be kept; undefined = do not keep it. */
  readonly formKey: string | undefined;
  readonly rawInputContents: readonly Uint8Array[];
}

/** A request as the core takes it, save the model. */
export interface DecodedInferRequest {
  readonly form: InferRequestForm;
  readonly id: string;
  /** Views of the message, or of bytes made from typed contents. */
  readonly inputBytes: readonly Uint8Array[];
}

/**
 * Serialised ModelInferRequests → what the core takes. In two steps, because a request for an unknown model is to be
 * answered as such whatever else is wrong with it. A form that was met before costs one look-up instead of a decoding.
 */
export class InferRequestDecoder {
  readonly #forms = new RequestMemo<InferRequestForm>(GENERATION_FORM_COUNT);

  /**
   * @param bytes borrowed until the request has ended: its inputs are views of them.
   * @throws InferenceError INTERNAL, as every gRPC library answers it, when the bytes are no ModelInferRequest.
   */
  open(bytes: Buffer): OpenedInferRequest {
    const layout = layoutOfInferRequest(bytes);
    const form = layout && this.#forms.get(layout.formKey);
    if (layout && form && form.signature.inputs.length === layout.rawInputContents.length) {
      return {
        modelName: form.modelName,
        modelVersion: form.modelVersion,
        id: layout.idEnd === 0 ? "" : bytes.toString("utf8", layout.idStart, layout.idEnd),
        form,
        message: undefined,
        formKey: undefined,
        rawInputContents: layout.rawInputContents,
      };
    }
    return this.openMessage(messageFrom(bytes), layout?.formKey);
  }

  /** The same for a message that is decoded already. */
  openMessage(message: ModelInferRequest, formKey?: string): OpenedInferRequest {
    const { modelName, modelVersion, id, rawInputContents } = message;
    return { modelName, modelVersion, id, form: undefined, message, formKey, rawInputContents };
  }

  /** @throws InferenceError INVALID_ARG or UNSUPPORTED, naming what is wrong with parameters or tensors. */
  decode({
    form,
    id,
    message,
    formKey,
    rawInputContents,
  }: OpenedInferRequest): DecodedInferRequest {
    if (form) return { form, id, inputBytes: rawInputContents };
    if (!message)
      throw new InferenceError("INTERNAL", "a request was opened without form or message");
    const newForm = formFromMessage(message);
    const inputBytes = inputBytesFromMessage(message, newForm);
    if (formKey !== undefined) this.#forms.set(formKey, newForm);
    return { form: newForm, id, inputBytes };
  }
}

function messageFrom({ buffer, byteOffset, length }: Buffer): ModelInferRequest {
  try {
    // Views of a Buffer would be Buffers too, whose `slice` does not copy: a trap for whoever reads the inputs.
    return fromBinary(ModelInferRequestSchema, new Uint8Array(buffer, byteOffset, length));
  } catch (thrown) {
    throw new InferenceError(
      "INTERNAL",
      `request is not a valid ModelInferRequest message: ${String(thrown)}`,
      { cause: thrown },
    );
  }
}
