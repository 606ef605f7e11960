import { create } from "@bufbuild/protobuf";
import {
  type DataType,
  ModelConfigSchema,
  ModelInputSchema,
  ModelOutputSchema,
  ModelTransactionPolicySchema,
} from "#gen/inference/model_config_pb.ts";
import type { Datatype } from "../../src/base/datatype.ts";
import { DATATYPES } from "../../src/base/datatype.ts";
import { InferenceError, inferenceErrorFrom } from "../../src/base/error.ts";
import type { Shape } from "../../src/base/shape.ts";
import type { ExecutionSignature } from "../../src/core/backend/backend-model.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type { Model } from "../../src/core/model/model.ts";
import type { InferenceRequest } from "../../src/core/request/inference-request.ts";
import type { Parameters } from "../../src/core/request/request-signature.ts";
import { NO_PARAMETERS } from "../../src/core/request/request-signature.ts";
import type { Scheduler } from "../../src/core/scheduler/scheduler.ts";
import type { Tensor } from "../../src/core/tensor/tensor.ts";
import type { TensorSpec } from "../../src/core/tensor/tensor-spec.ts";
import { InMemoryStatistics } from "./in-memory-statistics.ts";
import { validateInMemory } from "./in-memory-validation.ts";

/** A tensor of a test model: `["INPUT0", "INT32", [16]]`, dims without the batch dimension. */
export type TensorFields = readonly [name: string, datatype: Datatype, dims: Shape];

/** One request in the hands of a test model. Every method may be called at any later time. */
export interface InMemoryCall {
  readonly request: InferenceRequest;
  /** An input by name, undefined when the request lacks it. */
  input(name: string): Tensor | undefined;
  /** Answers; outputs the client did not ask for are left out. `isFinal` is true where nothing is said. */
  respond(outputs: readonly Tensor[], options?: RespondOptions): void;
  fail(error: InferenceError, isFinal?: boolean): void;
  /** The end without a response. */
  complete(): void;
}

/** Options of {@link InMemoryCall.respond}. */
export interface RespondOptions {
  readonly isFinal?: boolean;
  readonly parameters?: Parameters;
}

/** What a test model does with a request; called in a microtask after `infer`. A throw fails the request. */
export type InMemoryBehaviour = (call: InMemoryCall) => void;

/** What an {@link InMemoryModel} is made of. */
export interface InMemoryModelFields {
  readonly name: string;
  readonly version?: number;
  readonly maxBatchSize?: number;
  readonly inputs: readonly TensorFields[];
  readonly outputs: readonly TensorFields[];
  /** Names of inputs that a request may leave out. */
  readonly optionalInputs?: readonly string[];
  readonly isDecoupled?: boolean;
  readonly behaviour: InMemoryBehaviour;
}

function specsOf(fields: readonly TensorFields[], optional: readonly string[]): TensorSpec[] {
  return fields.map(([name, datatype, dims]) => ({
    name,
    datatype,
    dims,
    isOptional: optional.includes(name),
    allowsRaggedBatch: false,
    isShapeTensor: false,
  }));
}

function configOf(fields: InMemoryModelFields): ModelConfig {
  const tensors = (list: readonly TensorFields[]) =>
    list.map(([name, datatype, dims]) => ({
      name,
      dataType: DATATYPES[datatype].code as DataType,
      dims: dims.map(BigInt),
    }));
  const isDecoupled = fields.isDecoupled ?? false;
  return {
    message: create(ModelConfigSchema, {
      name: fields.name,
      backend: "in_memory",
      maxBatchSize: fields.maxBatchSize ?? 0,
      input: tensors(fields.inputs).map((tensor) => create(ModelInputSchema, tensor)),
      output: tensors(fields.outputs).map((tensor) => create(ModelOutputSchema, tensor)),
      modelTransactionPolicy: create(ModelTransactionPolicySchema, { decoupled: isDecoupled }),
    }),
    name: fields.name,
    platform: "in_memory",
    backend: "in_memory",
    maxBatchSize: fields.maxBatchSize ?? 0,
    inputs: specsOf(fields.inputs, fields.optionalInputs ?? []),
    outputs: specsOf(fields.outputs, []),
    isDecoupled,
    parameters: {},
    metricTags: {},
  };
}

/** A loaded model without a backend: its behaviour is a function. */
export class InMemoryModel implements Model, Scheduler {
  readonly name: string;
  readonly version: number;
  readonly versionText: string;
  readonly config: ModelConfig;
  readonly executionSignature: ExecutionSignature;
  readonly statistics = new InMemoryStatistics();
  readonly loadDurationNs = 0;
  readonly scheduler: Scheduler = this;
  isHealthy = true;
  /** Requests seen, in order; for tests that look at what arrived. At most the newest 100. */
  readonly seen: InferenceRequest[] = [];
  inflightCount = 0;
  readonly pendingCount = 0;
  readonly #behaviour: InMemoryBehaviour;

  constructor(fields: InMemoryModelFields) {
    this.name = fields.name;
    this.version = fields.version ?? 1;
    this.versionText = String(this.version);
    this.config = configOf(fields);
    const tensors = (list: readonly TensorFields[]) =>
      list.map(([name, datatype, dims]) => ({ name, datatype, shape: dims }));
    this.executionSignature = {
      inputs: tensors(fields.inputs),
      outputs: tensors(fields.outputs),
      maxBatchSize: fields.maxBatchSize ?? 0,
    };
    this.#behaviour = fields.behaviour;
  }

  submit(request: InferenceRequest): void {
    validateInMemory(this, request);
    this.enqueue(request);
  }

  enqueue(request: InferenceRequest): void {
    this.inflightCount++;
    if (this.seen.length === 100) this.seen.shift();
    this.seen.push(request);
    const call = new Call(this, request);
    request.onCancel = () => call.cancelled();
    queueMicrotask(() => {
      try {
        if (!request.isEnded) this.#behaviour(call);
      } catch (thrown) {
        call.fail(inferenceErrorFrom(thrown));
      }
    });
  }

  async stop(): Promise<void> {
    while (this.inflightCount > 0) await Bun.sleep(1);
  }

  dispose(): Promise<void> {
    return this.stop();
  }
}

class Call implements InMemoryCall {
  readonly request: InferenceRequest;
  readonly #model: InMemoryModel;

  constructor(model: InMemoryModel, request: InferenceRequest) {
    this.#model = model;
    this.request = request;
  }

  input(name: string): Tensor | undefined {
    const { inputs } = this.request.signature;
    const index = inputs.findIndex((input) => input.name === name);
    const description = inputs[index];
    const bytes = this.request.inputBytes[index];
    return description && bytes ? { ...description, bytes } : undefined;
  }

  respond(outputs: readonly Tensor[], options: RespondOptions = {}): void {
    if (this.request.isEnded) return;
    const isFinal = options.isFinal ?? true;
    const wanted = this.request.signature.outputs;
    const asked =
      wanted.length === 0
        ? outputs
        : outputs.filter((output) => wanted.some((one) => one.name === output.name));
    if (isFinal) this.#end("success");
    this.request.sink.onResponse(
      {
        modelName: this.#model.name,
        modelVersion: this.#model.versionText,
        id: this.request.id,
        parameters: options.parameters ?? NO_PARAMETERS,
        outputs: asked,
      },
      isFinal,
    );
  }

  fail(error: InferenceError, isFinal = true): void {
    if (this.request.isEnded) return;
    if (isFinal) this.#end(error.reason);
    this.request.sink.onError(error, isFinal);
  }

  complete(): void {
    if (this.request.isEnded) return;
    this.#end("success");
    this.request.sink.onComplete();
  }

  cancelled(): void {
    queueMicrotask(() =>
      this.fail(
        new InferenceError("CANCELLED", "request was cancelled by its caller", {
          reason: "CANCELED",
        }),
      ),
    );
  }

  #end(outcome: "success" | InferenceError["reason"]): void {
    this.request.isEnded = true;
    this.#model.inflightCount--;
    this.#model.statistics.count(outcome);
  }
}
