import type { Clock } from "../base/clock.ts";
import { InferenceError } from "../base/error.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { DataPlane } from "./data-plane.ts";
import type { ModelCall, ServerCalls } from "./instance/python/server-calls.ts";
import type { Model } from "./model/model.ts";
import { InferenceRequest } from "./request/inference-request.ts";
import type { ModelMetricCalls } from "./statistics/model-metrics.ts";

/** What models may ask of the server, over the planes that frontends use too. */
export class ModelCalls implements ServerCalls {
  readonly metrics: ModelMetricCalls;
  readonly #planes: () => DataPlane & ControlPlane;
  readonly #clock: Clock;

  /** @param planes asked for at each call, because the models are loaded by what this is handed to. */
  constructor(planes: () => DataPlane & ControlPlane, clock: Clock, metrics: ModelMetricCalls) {
    this.#planes = planes;
    this.#clock = clock;
    this.metrics = metrics;
  }

  infer(call: ModelCall): InferenceRequest {
    const model = this.#model(call);
    if (model.config.isDecoupled && !call.isDecoupled) {
      throw new InferenceError(
        "UNSUPPORTED",
        `model '${call.modelName}' uses the decoupled transaction policy: call it with exec(decoupled=True)`,
      );
    }
    const request = new InferenceRequest({ ...call.request, arrivalNs: this.#clock.nowNs() });
    this.#planes().infer(model, request);
    return request;
  }

  load(
    modelName: string,
    configJson: string,
    files: ReadonlyMap<string, Uint8Array>,
  ): Promise<void> {
    return this.#planes().loadModel(modelName, {
      ...(configJson === "" ? {} : { configJson }),
      ...(files.size === 0 ? {} : { files }),
    });
  }

  unload(modelName: string, unloadDependents: boolean): Promise<void> {
    return this.#planes().unloadModel(modelName, unloadDependents);
  }

  async isReady(modelName: string, modelVersion: string): Promise<boolean> {
    try {
      return await this.#planes().isModelReady(modelName, modelVersion);
    } catch (thrown) {
      if (thrown instanceof InferenceError) return false;
      throw thrown;
    }
  }

  /** Triton's text, whatever the reason why the model cannot be called. */
  #model({ modelName, modelVersion }: ModelCall): Model {
    try {
      return this.#planes().model(modelName, modelVersion < 0 ? "" : String(modelVersion));
    } catch (thrown) {
      if (!(thrown instanceof InferenceError)) throw thrown;
      throw new InferenceError(
        thrown.code,
        `Model ${modelName} - Error when running inference: Failed for execute the inference request. Model '${modelName}' is not ready.`,
        { cause: thrown },
      );
    }
  }
}
