import type { Datatype } from "../../../base/datatype.ts";
import type { Shape } from "../../../base/shape.ts";
import { shapesEqual } from "../../../base/shape.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";

interface TemplateOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly byteLength: number;
}

/**
 * The JSON head of an all-binary response, kept with the request plan: as long as a model answers with the same
 * outputs, shapes and sizes, the head is copied instead of written.
 */
export interface ResponseTemplate {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly outputs: readonly TemplateOutput[];
  /** Sum of the outputs' bytes. */
  readonly blobBytes: number;
  /** From `"model_name"` to the end; what comes before is the brace and the id. */
  readonly head: Uint8Array;
}

/** What {@link ResponseTemplate} needs to know of a response to be used for the next one. */
export function templateFrom(response: InferenceResponse, head: Uint8Array): ResponseTemplate {
  const outputs = response.outputs.map(({ name, datatype, shape, bytes }) => ({
    name,
    datatype,
    shape: [...shape],
    byteLength: bytes.byteLength,
  }));
  return {
    modelName: response.modelName,
    modelVersion: response.modelVersion,
    outputs,
    blobBytes: outputs.reduce((sum, output) => sum + output.byteLength, 0),
    head,
  };
}

/** Whether the head fits another response, its id aside. */
export function templateFits(template: ResponseTemplate, response: InferenceResponse): boolean {
  const { outputs } = response;
  if (
    outputs.length !== template.outputs.length ||
    response.parameters.size > 0 ||
    response.modelVersion !== template.modelVersion ||
    response.modelName !== template.modelName
  ) {
    return false;
  }
  for (let i = 0; i < outputs.length; i++) {
    const seen = outputs[i];
    const kept = template.outputs[i];
    if (
      !seen ||
      !kept ||
      seen.name !== kept.name ||
      seen.datatype !== kept.datatype ||
      seen.bytes.byteLength !== kept.byteLength ||
      !shapesEqual(seen.shape, kept.shape)
    ) {
      return false;
    }
  }
  return true;
}
