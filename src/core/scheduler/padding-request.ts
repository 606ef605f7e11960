import { InferenceRequest } from "../request/inference-request.ts";
import type { ResponseSink } from "../request/inference-response.ts";
import { RequestSignature } from "../request/request-signature.ts";

const ignore = (): undefined => undefined;
const NOBODY: ResponseSink = { onResponse: ignore, onError: ignore, onComplete: ignore };

/**
 * A request that fills a row of a batch: the tensors of a real one, no sequence, and an end before it begins, so
 * that nobody answers it or counts it.
 */
export function paddingRequest(real: InferenceRequest): InferenceRequest {
  const { inputs, outputs, parameters } = real.signature;
  const padding = new InferenceRequest({
    signature: new RequestSignature({ inputs, outputs, parameters }),
    id: "",
    inputBytes: real.inputBytes,
    sink: NOBODY,
    arrivalNs: real.arrivalNs,
  });
  padding.validated = real.validated;
  padding.isEnded = true;
  return padding;
}
