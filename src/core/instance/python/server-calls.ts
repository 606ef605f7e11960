import type { InferenceRequest, InferenceRequestFields } from "../../request/inference-request.ts";
import type { ModelMetricCalls } from "../../statistics/model-metrics.ts";

/** A model's call of another model (business logic scripting). */
export interface ModelCall {
  readonly modelName: string;
  /** −1 = the newest that is ready. */
  readonly modelVersion: number;
  readonly isDecoupled: boolean;
  readonly request: Omit<InferenceRequestFields, "arrivalNs">;
}

/** What Python models may ask of the server. Handed in; it reaches the planes and the metrics. */
export interface ServerCalls {
  /**
   * Starts an inference; the answers go to `call.request.sink`.
   * @returns the request, to cancel it.
   * @throws InferenceError when it is refused at once; the sink is then not touched.
   */
  infer(call: ModelCall): InferenceRequest;
  /** @throws InferenceError when the load fails. */
  load(
    modelName: string,
    configJson: string,
    files: ReadonlyMap<string, Uint8Array>,
  ): Promise<void>;
  unload(modelName: string, unloadDependents: boolean): Promise<void>;
  isReady(modelName: string, modelVersion: string): Promise<boolean>;
  readonly metrics: ModelMetricCalls;
}
