import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type { ExecutionResult, JoinedOutput } from "../instance/model-instance.ts";
import type { Batch } from "../request/batch.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import type { InferenceResponse } from "../request/inference-response.ts";
import type { RequestAnswers } from "../request/request-answers.ts";
import type { Parameters } from "../request/request-signature.ts";
import { reshaped } from "../tensor/reshape.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import { cutRows, type RowCutter, rowCutter } from "./row-cutter.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";

/** Told of each request that got its end. */
export type OnRequestEnded = (request: InferenceRequest) => void;

/** Told of each request that its model wants to run again. */
export type OnRescheduled = (request: InferenceRequest) => void;

/** The rows of one request in one output, or why they cannot be told. */
type OutputPart = InferenceError | { readonly shape: Shape; readonly bytes: Uint8Array };

/** What a batch took, for the statistics of each of its requests. */
interface ComputeTimes {
  computeInputNs: number;
  computeInferNs: number;
  computeOutputNs: number;
}

/**
 * Turns what instances return into one response for each request, and into statistics. Splits joined outputs by rows
 * without copying: the views are borrowed by the sinks until their calls return.
 */
export class BatchDelivery implements RequestAnswers {
  readonly #options: SchedulerOptions;
  readonly #onEnded: OnRequestEnded;
  readonly #onRescheduled: OnRescheduled | undefined;
  readonly #specs: readonly (TensorSpec | undefined)[];
  readonly #hasBatchDimension: boolean;

  /** @param onRescheduled undefined for schedulers that run each request once. */
  constructor(options: SchedulerOptions, onEnded: OnRequestEnded, onRescheduled?: OnRescheduled) {
    this.#options = options;
    this.#onEnded = onEnded;
    this.#onRescheduled = onRescheduled;
    this.#hasBatchDimension = options.config.maxBatchSize > 0;
    const byName = new Map(options.config.outputs.map((spec) => [spec.name, spec]));
    this.#specs = options.signature.outputs.map((output) => byName.get(output.name));
  }

  /** Ends every request of a batch that ran (or failed) as a whole. */
  deliver(batch: Batch, result: ExecutionResult, startedNs: number): void {
    const { statistics, clock } = this.#options;
    const totalNs = clock.nowNs() - startedNs;
    const times: ComputeTimes = {
      // Moving the batch to its instance and back counts as input: it is what getting ready to compute costs.
      computeInputNs: Math.max(0, totalNs - result.computeInferNs - result.computeOutputNs),
      computeInferNs: result.computeInferNs,
      computeOutputNs: result.computeOutputNs,
    };
    if (result.error !== undefined) {
      for (const request of batch.requests) this.fail(request, result.error, true);
      return;
    }
    if (result.requestErrors.size < batch.requests.length) {
      statistics.recordExecution(
        batch.rowCount,
        times.computeInputNs,
        times.computeInferNs,
        times.computeOutputNs,
      );
    }
    if (result.isAnsweredByInstance === true) return;
    this.#split(batch, result, times);
  }

  respond(
    request: InferenceRequest,
    outputs: readonly Tensor[],
    parameters: Parameters,
    isFinal: boolean,
  ): void {
    if (request.isEnded) return;
    let tensors: readonly Tensor[];
    try {
      tensors = this.#wanted(request, outputs);
    } catch (error) {
      this.fail(request, inferenceErrorFrom(error), isFinal);
      return;
    }
    if (isFinal) this.#recordSuccess(request, this.#timesSinceStart(request));
    request.sink.onResponse(this.#response(request, tensors, parameters), isFinal);
    if (isFinal) this.#ended(request);
  }

  fail(request: InferenceRequest, error: InferenceError, isFinal: boolean): void {
    if (request.isEnded) return;
    if (isFinal) {
      const reason = request.isCancelled ? "CANCELED" : error.reason;
      const elapsedNs = this.#options.clock.nowNs() - request.arrivalNs;
      this.#options.statistics.recordFailure(reason, elapsedNs);
    }
    request.sink.onError(error, isFinal);
    if (isFinal) this.#ended(request);
  }

  complete(request: InferenceRequest): void {
    if (request.isEnded) return;
    this.#recordSuccess(request, this.#timesSinceStart(request));
    request.sink.onComplete();
    this.#ended(request);
  }

  reschedule(request: InferenceRequest): void {
    if (request.isEnded) return;
    if (this.#onRescheduled !== undefined) {
      this.#onRescheduled(request);
      return;
    }
    const text =
      "request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while model " +
      `'${this.#options.config.name}' has no sequence_batching with iterative_sequence`;
    this.fail(request, new InferenceError("INTERNAL", text, { reason: "BACKEND" }), true);
  }

  #split(batch: Batch, result: ExecutionResult, times: ComputeTimes): void {
    const { requests } = batch;
    const isAlone = requests.length === 1;
    const cutters = isAlone ? [] : result.outputs.map((output) => this.#cutterOf(output, batch));
    for (let i = 0; i < requests.length; i++) {
      const request = requests[i];
      if (request === undefined) continue;
      const error = result.requestErrors.get(i);
      // The cutters keep their place, so every request has to take its rows, also one that failed.
      const parts = isAlone ? result.outputs : nextParts(cutters, request);
      // A padding request of a sequence batch, or one that was answered on the way.
      if (request.isEnded) continue;
      if (request.isCancelled) {
        this.fail(request, cancelledError(), true);
      } else if (error !== undefined) {
        this.fail(request, error, true);
      } else {
        const parameters = result.requestParameters.get(i) ?? result.sharedParameters;
        this.#answer(request, result.outputs, parts, parameters, times);
      }
    }
  }

  /** What cuts an output into the rows of requests; an error where its first dimension is not the batch. */
  #cutterOf(output: JoinedOutput, batch: Batch): RowCutter | InferenceError {
    const isWhole = !this.#hasBatchDimension;
    if (!isWhole && output.shape[0] !== batch.rowCount) {
      const name = this.#options.signature.outputs[output.index]?.name ?? "";
      return new InferenceError(
        "INTERNAL",
        `model '${this.#options.config.name}', output '${name}': the batch has ${batch.rowCount} rows, ` +
          `but the model returned shape [${output.shape.join(",")}]`,
        { reason: "BACKEND" },
      );
    }
    return rowCutter(output, isWhole);
  }

  #answer(
    request: InferenceRequest,
    outputs: readonly JoinedOutput[],
    parts: readonly OutputPart[],
    parameters: Parameters,
    times: ComputeTimes,
  ): void {
    const tensors: Tensor[] = [];
    const wanted = request.validated?.outputIndexes;
    try {
      for (let i = 0; i < outputs.length; i++) {
        const output = outputs[i];
        const part = parts[i];
        if (output === undefined || part === undefined) continue;
        if (wanted !== undefined && !wanted.includes(output.index)) continue;
        // States that the configuration does not list as outputs are between the model and its scheduler.
        if (this.#specs[output.index] === undefined) continue;
        if (part instanceof InferenceError) throw part;
        tensors.push(this.#clientTensor(request, output, part.shape, part.bytes));
      }
    } catch (error) {
      this.fail(request, inferenceErrorFrom(error), true);
      return;
    }
    this.#recordSuccess(request, times);
    request.sink.onResponse(this.#response(request, tensors, parameters), true);
    this.#ended(request);
  }

  #clientTensor(
    request: InferenceRequest,
    output: JoinedOutput,
    shape: Shape,
    bytes: Uint8Array,
  ): Tensor {
    const name = this.#options.signature.outputs[output.index]?.name ?? "";
    const spec = this.#specs[output.index];
    const tensor: Tensor = {
      name,
      datatype: output.datatype,
      shape: spec?.reshape === undefined ? shape : this.#clientShape(spec, spec.reshape, shape),
      bytes,
    };
    return spec === undefined ? tensor : this.#classified(request, tensor, spec);
  }

  /** The dims of the configuration in place of the `reshape` that the model sees. */
  #clientShape(spec: TensorSpec, reshape: Shape, shape: Shape): Shape {
    if (!this.#hasBatchDimension) return reshaped(reshape, spec.dims, shape);
    return [shape[0] ?? 1, ...reshaped(reshape, spec.dims, shape.slice(1))];
  }

  #classified(request: InferenceRequest, tensor: Tensor, spec: TensorSpec): Tensor {
    for (const wanted of request.signature.outputs) {
      if (wanted.classificationCount > 0 && wanted.name === tensor.name) {
        return this.#options.classify(
          tensor,
          wanted.classificationCount,
          spec,
          this.#hasBatchDimension,
        );
      }
    }
    return tensor;
  }

  #wanted(request: InferenceRequest, outputs: readonly Tensor[]): readonly Tensor[] {
    const asked = request.signature.outputs;
    const known = this.#options.config.outputs;
    const tensors: Tensor[] = [];
    for (const output of outputs) {
      const spec = known.find((candidate) => candidate.name === output.name);
      if (spec === undefined) continue;
      if (asked.length > 0 && !asked.some((wanted) => wanted.name === output.name)) continue;
      tensors.push(this.#classified(request, output, spec));
    }
    return tensors;
  }

  #response(
    request: InferenceRequest,
    outputs: readonly Tensor[],
    parameters: Parameters,
  ): InferenceResponse {
    return {
      modelName: this.#options.config.name,
      modelVersion: this.#options.versionText,
      id: request.id,
      parameters,
      outputs,
    };
  }

  #timesSinceStart(request: InferenceRequest): ComputeTimes {
    const computeInferNs = Math.max(0, this.#options.clock.nowNs() - request.computeStartNs);
    return { computeInputNs: 0, computeInferNs, computeOutputNs: 0 };
  }

  #recordSuccess(request: InferenceRequest, times: ComputeTimes): void {
    const { computeInputNs, computeInferNs, computeOutputNs } = times;
    const queueNs = request.computeStartNs - request.queueStartNs;
    this.#options.statistics.recordSuccess({
      requestNs: this.#options.clock.nowNs() - request.arrivalNs,
      queueNs,
      computeInputNs,
      computeInferNs,
      computeOutputNs,
    });
    request.onSucceeded?.(queueNs, computeInputNs, computeInferNs, computeOutputNs);
  }

  #ended(request: InferenceRequest): void {
    request.isEnded = true;
    request.onCancel = undefined;
    this.#onEnded(request);
  }
}

/** What one request has of each output. */
function nextParts(
  cutters: readonly (RowCutter | InferenceError)[],
  request: InferenceRequest,
): readonly OutputPart[] {
  const rows = request.validated?.batchSize ?? 1;
  return cutters.map((cutter) =>
    cutter instanceof InferenceError ? cutter : cutRows(cutter, rows),
  );
}

/** The end of a request whose client has gone. */
export function cancelledError(): InferenceError {
  return new InferenceError("CANCELLED", "Request cancelled", { reason: "CANCELED" });
}
