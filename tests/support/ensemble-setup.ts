import type { ModelConfig } from "../../src/core/config/model-config.ts";
import { modelConfigFromMessage } from "../../src/core/config/model-config-from.ts";
import { RequestValidator } from "../../src/core/model/validate-request.ts";
import { InferenceRequest } from "../../src/core/request/inference-request.ts";
import { NO_PARAMETERS, RequestSignature } from "../../src/core/request/request-signature.ts";
import { ensemblePlan, type StepModel } from "../../src/core/scheduler/ensemble-plan.ts";
import { EnsembleScheduler } from "../../src/core/scheduler/ensemble-scheduler.ts";
import { ModelCounters } from "../../src/core/statistics/model-counters.ts";
import type { Tensor } from "../../src/core/tensor/tensor.ts";
import { configMessage } from "./config-texts.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingSink } from "./recording-sink.ts";
import { sampleConfig, sampleSignature } from "./sample-config.ts";

/** A step of a configuration: model, inputs and outputs as `name: tensor`. */
export type StepText = readonly [
  model: string,
  inputs: Readonly<Record<string, string>>,
  outputs: Readonly<Record<string, string>>,
];

/** The text of an ensemble named `e`, whose tensors are all INT32 of any length. */
export function ensembleText(
  inputs: readonly string[],
  outputs: readonly string[],
  steps: readonly StepText[],
  extra = "",
): string {
  const tensors = (kind: string, names: readonly string[]) =>
    names.map(
      (name) =>
        `${kind} { name: "${name.replace("?", "")}" data_type: TYPE_INT32 dims: -1 ${name.endsWith("?") ? "optional: true" : ""} }`,
    );
  const map = (kind: string, entries: Readonly<Record<string, string>>) =>
    Object.entries(entries).map(([key, value]) => `${kind} { key: "${key}" value: "${value}" }`);
  const stepTexts = steps.map(
    ([model, stepInputs, stepOutputs]) =>
      `step { model_name: "${model}" model_version: -1 ${map("input_map", stepInputs).join(" ")} ${map("output_map", stepOutputs).join(" ")} }`,
  );
  return [
    'name: "e" platform: "ensemble"',
    ...tensors("input", inputs),
    ...tensors("output", outputs),
    `ensemble_scheduling { ${extra} ${stepTexts.join(" ")} }`,
  ].join("\n");
}

/** A model that keeps its requests until the test answers them. */
export class FakeStepModel implements StepModel {
  readonly name: string;
  readonly config: ModelConfig;
  readonly requests: InferenceRequest[] = [];
  cancelledCount = 0;
  /** Thrown by `submit` where set. */
  refusal: Error | undefined;

  constructor(name: string, isDecoupled = false) {
    this.name = name;
    this.config = { ...sampleConfig({ name, inputs: [] }), isDecoupled };
  }

  submit(request: InferenceRequest): void {
    if (this.refusal !== undefined) throw this.refusal;
    request.onCancel = () => {
      this.cancelledCount += 1;
    };
    this.requests.push(request);
  }

  /** Takes the oldest request. */
  next(): InferenceRequest {
    const request = this.requests.shift();
    if (request === undefined) throw new Error(`${this.name} has no request`);
    return request;
  }

  /** Answers a request, the oldest where none is named, with outputs of one number each. */
  answer(outputs: Readonly<Record<string, number>>, isFinal = true, request = this.next()): void {
    const bytes = Object.values(outputs).map((value) => numberBytes(value));
    request.sink.onResponse(
      {
        modelName: this.name,
        modelVersion: "1",
        id: request.id,
        parameters: NO_PARAMETERS,
        outputs: Object.keys(outputs).map((name, i) => tensor(name, bytes[i])),
      },
      isFinal,
    );
    // A host writes its next answer over the bytes that were borrowed.
    for (const view of bytes) view.fill(0xff);
  }
}

function numberBytes(value: number): Uint8Array {
  return new Uint8Array(Int32Array.of(value).buffer);
}

function tensor(name: string, bytes: Uint8Array = new Uint8Array()): Tensor {
  return { name, datatype: "INT32", shape: [1], bytes };
}

/** The number that a tensor of one element holds. */
export function numberOf(bytes: Uint8Array | undefined): number | undefined {
  return bytes === undefined ? undefined : new Int32Array(Uint8Array.from(bytes).buffer)[0];
}

/** What a request was answered: outputs by name, one object for each response. */
export function answersOf(sink: RecordingSink): readonly Readonly<Record<string, unknown>>[] {
  return sink.responses.map(({ outputs }) =>
    Object.fromEntries(outputs.map(({ name, bytes }) => [name, numberOf(bytes)])),
  );
}

/** An ensemble over fake models, on a manual clock. */
export class EnsembleSetup {
  readonly clock = new ManualClock();
  readonly statistics = new ModelCounters();
  readonly scheduler: EnsembleScheduler;
  readonly #config: ModelConfig;
  readonly #models: ReadonlyMap<string, FakeStepModel>;

  private constructor(config: ModelConfig, models: readonly FakeStepModel[]) {
    const { schedulingChoice } = config.message;
    const steps =
      schedulingChoice.case === "ensembleScheduling" ? schedulingChoice.value : undefined;
    this.#config = config;
    this.#models = new Map(models.map((model) => [model.name, model]));
    const stepModels = steps?.step.map(({ modelName }) => this.model(modelName)) ?? [];
    this.scheduler = new EnsembleScheduler({
      config,
      versionText: "3",
      clock: this.clock,
      statistics: this.statistics,
      classify: (output, count) => ({ ...output, name: `${output.name}:${count}` }),
      plan: ensemblePlan(config, stepModels),
      maxInflightRequests: steps?.maxInflightRequests ?? 0,
    });
  }

  static async of(text: string, models: readonly FakeStepModel[]): Promise<EnsembleSetup> {
    return new EnsembleSetup(await modelConfigFromMessage(configMessage(text), "/nowhere"), models);
  }

  model(name: string): FakeStepModel {
    const model = this.#models.get(name);
    if (model === undefined) throw new Error(`no model ${name}`);
    return model;
  }

  /** Sends numbers by input; `wanted` are outputs, with a count of classes as `name:count`. */
  send(
    inputs: Readonly<Record<string, number>>,
    wanted: readonly string[] = [],
    fields: { readonly priority?: number } = {},
  ): { readonly request: InferenceRequest; readonly sink: RecordingSink } {
    const sink = new RecordingSink();
    const signature = new RequestSignature({
      inputs: Object.keys(inputs).map((name) => ({ name, datatype: "INT32" as const, shape: [1] })),
      outputs: wanted.map((text) => {
        const [name = "", count = "0"] = text.split(":");
        return { name, classificationCount: Number(count) };
      }),
      ...fields,
    });
    const request = new InferenceRequest({
      signature,
      id: "r",
      inputBytes: Object.values(inputs).map(numberBytes),
      sink,
      arrivalNs: this.clock.nowNs(),
    });
    const validator = new RequestValidator(this, this.#config, sampleSignature(this.#config));
    request.validated = validator.validate(signature, "r");
    this.scheduler.enqueue(request);
    return { request, sink };
  }
}
