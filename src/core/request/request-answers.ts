import type { InferenceError } from "../../base/error.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { InferenceRequest } from "./inference-request.ts";
import type { Parameters } from "./request-signature.ts";

/**
 * Where an instance that answers request by request (a Python model) leaves its answers; instances that return
 * joined outputs have no use for it. Applies requested outputs, classification and statistics like any delivery.
 *
 * A request gets exactly one end: a call with `isFinal` true, or `complete`. Later calls for it are ignored.
 */
export interface RequestAnswers {
  /** @param outputs as the model made them, batch dimension included; bytes borrowed until the call returns. */
  respond(
    request: InferenceRequest,
    outputs: readonly Tensor[],
    parameters: Parameters,
    isFinal: boolean,
  ): void;
  fail(request: InferenceRequest, error: InferenceError, isFinal: boolean): void;
  /** The end without a further response. */
  complete(request: InferenceRequest): void;
  /**
   * The request is to run again after this execution (`TRITONSERVER_REQUEST_RELEASE_RESCHEDULE`), and has no end
   * yet. Call it before the execution is over.
   */
  reschedule(request: InferenceRequest): void;
}
