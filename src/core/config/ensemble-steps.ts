import { create } from "@bufbuild/protobuf";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { ModelTransactionPolicySchema } from "#gen/inference/model_config_pb.ts";
import { ENSEMBLE_PLATFORM } from "./backend-names.ts";

/** One step of `ensemble_scheduling`. */
export interface ConfiguredStep {
  readonly modelName: string;
  /** As a request would name it; "" = the latest. */
  readonly versionText: string;
  /** Tensor of the ensemble by input of the step's model. */
  readonly inputMap: Readonly<Record<string, string>>;
  /** Tensor of the ensemble by output of the step's model. */
  readonly outputMap: Readonly<Record<string, string>>;
}

/** Whether a configuration is one of an ensemble. */
export function isEnsemble(message: ModelConfigMessage): boolean {
  return message.platform === ENSEMBLE_PLATFORM;
}

/** The steps of an ensemble in the order of its configuration; none for other models. */
export function ensembleSteps(message: ModelConfigMessage): readonly ConfiguredStep[] {
  const { schedulingChoice } = message;
  if (schedulingChoice.case !== "ensembleScheduling") return [];
  return schedulingChoice.value.step.map(({ modelName, modelVersion, inputMap, outputMap }) => ({
    modelName,
    versionText: modelVersion < 0n ? "" : String(modelVersion),
    inputMap,
    outputMap,
  }));
}

/** `max_inflight_requests` of an ensemble; 0 = no limit. */
export function maxInflightRequestsOf({ schedulingChoice }: ModelConfigMessage): number {
  if (schedulingChoice.case !== "ensembleScheduling") return 0;
  return schedulingChoice.value.maxInflightRequests;
}

/** Notes that a request to this model may have any number of responses. @param message is changed. */
export function makeDecoupled(message: ModelConfigMessage): void {
  message.modelTransactionPolicy ??= create(ModelTransactionPolicySchema);
  message.modelTransactionPolicy.decoupled = true;
}
