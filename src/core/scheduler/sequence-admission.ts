import { InferenceError } from "../../base/error.ts";
import type { SequenceControl } from "../config/sequence-batching.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import { requestPrefix } from "../request/request-prefix.ts";

/** Whether a request names its sequence. */
export function hasSequenceId({ sequenceId }: InferenceRequest): boolean {
  return sequenceId !== 0n && sequenceId !== "";
}

/**
 * Checks what every request of a sequence must have.
 *
 * @param isIdNeeded false where the server gives ids to sequences (iterative sequences).
 * @throws InferenceError INVALID_ARG with Triton's texts.
 */
export function checkSequenceRequest(
  request: InferenceRequest,
  modelName: string,
  correlation: SequenceControl | undefined,
  isIdNeeded: boolean,
): void {
  const hasId = hasSequenceId(request);
  if (hasId) checkIdType(request, modelName, correlation);
  if ((request.validated?.batchSize ?? 1) !== 1) {
    throw new InferenceError(
      "INVALID_ARG",
      `inference request to model '${modelName}' must specify batch-size 1 due to requirements of sequence batcher`,
    );
  }
  if (!hasId && isIdNeeded) {
    throw new InferenceError(
      "INVALID_ARG",
      `inference request to model '${modelName}' must specify a non-zero or non-empty correlation ID`,
    );
  }
}

/** A model whose control tensor holds numbers cannot be told an id that is a text, and the other way round. */
function checkIdType(
  request: InferenceRequest,
  modelName: string,
  correlation: SequenceControl | undefined,
): void {
  if (correlation === undefined) return;
  const isText = typeof request.sequenceId === "string";
  if (isText === (correlation.datatype === "BYTES")) return;
  throw new InferenceError(
    "INVALID_ARG",
    `${requestPrefix(request.id)}sequence batching control '${correlation.name}' data-type is ` +
      `'${isText ? "BYTES" : "UINT64"}', but model '${modelName}' expects '${correlation.datatype}'`,
  );
}

/** A request whose sequence has not started, or is over. */
export function notStartedError(request: InferenceRequest, modelName: string): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `inference request for sequence ${request.sequenceId} to model '${modelName}' must specify the START flag ` +
      "on the first request of the sequence",
  );
}

/** The end of all requests of a sequence that has waited for a slot too long. */
export function backlogTimeoutError(): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    "timeout of the corresponding sequence has been expired",
    { reason: "REJECTED" },
  );
}
