import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import { InferenceRequest } from "../request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../request/inference-response.ts";
import { NO_PARAMETERS } from "../request/request-signature.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { cancelledError } from "./deliver-batch.ts";
import { hasOutputs, outputsOf } from "./ensemble-outputs.ts";
import {
  type EnsemblePlan,
  type EnsembleRoute,
  type EnsembleStep,
  type OutputGroup,
  ROOT,
} from "./ensemble-plan.ts";
import { ABSENT, type EnsembleScope } from "./ensemble-scope.ts";
import { EnsembleScopes } from "./ensemble-scopes.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import type { StepSignatures } from "./step-signatures.ts";

/** What all requests to one ensemble share. */
export interface EnsembleOptions
  extends Pick<SchedulerOptions, "config" | "versionText" | "clock" | "statistics" | "classify"> {
  readonly plan: EnsemblePlan;
  /** Requests that one request has under way at each step; 0 = no limit. The others wait in memory. */
  readonly maxInflightRequests: number;
  /** Has the steps' models finish their sequences, as schedulers do; undefined where none has any. */
  readonly finishSequences?: (() => Promise<void>) | undefined;
}

/** A step under way in a scope. */
interface StepRun {
  readonly step: EnsembleStep;
  readonly scope: EnsembleScope;
}

/** Times of the steps, summed as Triton does for the ensemble's own statistics. In ns. */
interface StepTimes {
  queueNs: number;
  computeInputNs: number;
  computeInferNs: number;
  computeOutputNs: number;
}

/**
 * One request on its way through an ensemble. Starts every step whose tensors are there, keeps what flows between
 * them, and answers when the wanted outputs are there. The first error, or a cancellation, stops all that runs.
 */
export class EnsembleRun {
  readonly #options: EnsembleOptions;
  readonly #route: EnsembleRoute;
  readonly #signatures: StepSignatures;
  readonly #request: InferenceRequest;
  readonly #onEnded: () => void;
  readonly #scopes: EnsembleScopes;
  /** Requests to steps that have no end yet. */
  readonly #running = new Map<InferenceRequest, StepRun>();
  /** Scopes that wait because a step has `max_inflight_requests` under way. */
  readonly #waiting = new Map<EnsembleStep, EnsembleScope[]>();
  readonly #runningCounts: number[] = [];
  readonly #times: StepTimes = {
    queueNs: 0,
    computeInputNs: 0,
    computeInferNs: 0,
    computeOutputNs: 0,
  };
  #isStarting = true;
  /** An error from before `start` returned; sinks must not be called from inside of it. */
  #earlyError: InferenceError | undefined;

  /** @param onEnded called once, after the sink got its end. */
  constructor(
    options: EnsembleOptions,
    route: EnsembleRoute,
    signatures: StepSignatures,
    request: InferenceRequest,
    onEnded: () => void,
  ) {
    this.#options = options;
    this.#route = route;
    this.#scopes = new EnsembleScopes(route);
    this.#signatures = signatures;
    this.#request = request;
    this.#onEnded = onEnded;
  }

  /** Starts the first steps. Answers later, never from inside of this call. */
  start(): void {
    const { signature, inputBytes } = this.#request;
    const { root } = this.#scopes;
    this.#request.onCancel = () => this.#fail(cancelledError());
    for (const tensor of this.#route.plan.inputs.values()) root.put(tensor, ABSENT);
    for (const [i, { name, datatype, shape }] of signature.inputs.entries()) {
      const tensor = this.#route.plan.inputs.get(name);
      const bytes = inputBytes[i];
      if (tensor === undefined || bytes === undefined) continue;
      root.put(tensor, { datatype, shape, bytes });
    }
    for (const step of this.#route.steps) {
      if (step.origin === ROOT) this.#startIfReady(step, root);
    }
    this.#isStarting = false;
    if (this.#earlyError === undefined && this.#running.size > 0) return;
    queueMicrotask(() => {
      if (this.#earlyError !== undefined) this.#fail(this.#earlyError);
      else this.#settle();
    });
  }

  #startIfReady(step: EnsembleStep, scope: EnsembleScope): void {
    if (this.#request.isEnded || this.#earlyError !== undefined || !scope.canStart(step)) return;
    scope.markStarted(step);
    scope.openCount += 1;
    const limit = this.#options.maxInflightRequests;
    if (limit > 0 && (this.#runningCounts[step.index] ?? 0) >= limit) {
      const waiting = this.#waiting.get(step);
      if (waiting === undefined) this.#waiting.set(step, [scope]);
      else waiting.push(scope);
      return;
    }
    this.#submit(step, scope);
  }

  #submit(step: EnsembleStep, scope: EnsembleScope): void {
    const inputs = [];
    const inputBytes: Uint8Array[] = [];
    for (const { name, tensor } of step.inputs) {
      const held = scope.find(tensor);
      if (held === undefined || held === ABSENT) continue;
      inputs.push({ name, datatype: held.datatype, shape: held.shape });
      inputBytes.push(held.bytes);
    }
    const request = new InferenceRequest({
      signature: this.#signatures.signatureOf(
        step.index,
        this.#request.signature,
        inputs,
        this.#route.requested[step.index] ?? [],
      ),
      id: this.#request.id,
      inputBytes,
      sink: this.#sinkFor(() => request),
      arrivalNs: this.#options.clock.nowNs(),
    });
    request.onSucceeded = (queueNs, inputNs, inferNs, outputNs) => {
      this.#times.queueNs += queueNs;
      this.#times.computeInputNs += inputNs;
      this.#times.computeInferNs += inferNs;
      this.#times.computeOutputNs += outputNs;
    };
    this.#running.set(request, { step, scope });
    this.#runningCounts[step.index] = (this.#runningCounts[step.index] ?? 0) + 1;
    try {
      step.model.submit(request);
    } catch (thrown) {
      this.#running.delete(request);
      this.#fail(inferenceErrorFrom(thrown));
    }
  }

  #sinkFor(request: () => InferenceRequest): ResponseSink {
    return {
      onResponse: (response, isFinal) => this.#onResponse(request(), response, isFinal),
      onError: (error, isFinal) => {
        // The first error is the end of all, also where the step would go on.
        if (isFinal) this.#running.delete(request());
        this.#fail(error);
      },
      onComplete: () => this.#onStepEnded(request()),
    };
  }

  #onResponse(request: InferenceRequest, response: InferenceResponse, isFinal: boolean): void {
    const run = this.#running.get(request);
    if (run === undefined || this.#request.isEnded) return;
    const scope = this.#scopeOfAnswer(run, response);
    if (scope !== undefined) {
      const borrowed = this.#take(run.step, scope, response);
      this.#startReaders(run.step, scope);
      this.#answer(scope);
      if (this.#request.isEnded) return;
      for (const tensor of borrowed) scope.keep(tensor);
      this.#scopes.closeIfOver(scope);
    }
    if (isFinal) this.#onStepEnded(request);
  }

  /** Where the outputs of a response belong: each answer of a decoupled step opens a scope. */
  #scopeOfAnswer({ step, scope }: StepRun, response: InferenceResponse): EnsembleScope | undefined {
    if (!step.model.config.isDecoupled) return scope;
    if (response.outputs.length === 0) return undefined;
    return this.#scopes.open(step.index, scope);
  }

  /**
   * Puts the outputs of a step into a scope. What other steps read is copied, because the bytes are borrowed.
   * @returns tensors that only a response needs and that are still borrowed.
   */
  #take(step: EnsembleStep, scope: EnsembleScope, { outputs }: InferenceResponse): number[] {
    const borrowed: number[] = [];
    for (const { name, datatype, shape, bytes } of outputs) {
      const tensor = step.outputs.get(name);
      if (tensor === undefined || this.#route.isNeeded[tensor] !== true) continue;
      const isRead = (this.#route.readers[tensor]?.length ?? 0) > 0;
      if (!isRead) borrowed.push(tensor);
      scope.put(tensor, { datatype, shape, bytes: isRead ? Uint8Array.from(bytes) : bytes });
    }
    return borrowed;
  }

  #startReaders(step: EnsembleStep, scope: EnsembleScope): void {
    for (const tensor of step.outputs.values()) {
      for (const reader of this.#route.readers[tensor] ?? []) {
        for (const place of this.#scopes.affected(reader.origin, scope)) {
          this.#startIfReady(reader, place);
        }
      }
    }
  }

  /** Sends the responses that a change of a scope has made complete, in the order of the scopes. */
  #answer(changed: EnsembleScope): void {
    for (const group of this.#route.groups) {
      for (const scope of this.#scopes.affected(group.origin, changed)) {
        scope.isComplete ||= hasOutputs(this.#route, group, scope);
      }
      this.#sendComplete(group);
      if (this.#request.isEnded) return;
    }
  }

  #sendComplete(group: OutputGroup): void {
    for (const scope of this.#scopes.unanswered(group)) {
      if (!scope.isComplete) return;
      this.#respond(group, scope);
      if (this.#request.isEnded) return;
      this.#scopes.markAnswered(scope);
      this.#scopes.closeIfOver(scope);
    }
  }

  #respond(group: OutputGroup, scope: EnsembleScope): void {
    let outputs: readonly Tensor[];
    try {
      outputs = outputsOf(this.#options, group, scope, this.#request);
    } catch (thrown) {
      this.#fail(inferenceErrorFrom(thrown));
      return;
    }
    const isFinal = group.origin === ROOT;
    if (isFinal) this.#recordSuccess();
    const { config, versionText } = this.#options;
    this.#request.sink.onResponse(
      {
        modelName: config.name,
        modelVersion: versionText,
        id: this.#request.id,
        parameters: NO_PARAMETERS,
        outputs,
      },
      isFinal,
    );
    if (isFinal) this.#end();
  }

  /** A step has said all it has to say. */
  #onStepEnded(request: InferenceRequest): void {
    const run = this.#running.get(request);
    if (run === undefined) return;
    this.#running.delete(request);
    if (this.#request.isEnded) return;
    const { step, scope } = run;
    this.#runningCounts[step.index] = (this.#runningCounts[step.index] ?? 1) - 1;
    const next = this.#waiting.get(step)?.shift();
    if (next !== undefined) this.#submit(step, next);
    scope.openCount -= 1;
    this.#scopes.closeIfOver(scope);
    this.#settle();
  }

  /** Ends the request when no step is under way. */
  #settle(): void {
    if (this.#request.isEnded || this.#running.size > 0) return;
    this.#answer(this.#scopes.root);
    if (this.#request.isEnded) return;
    const isAnswered = this.#route.groups.every(({ origin }) => origin !== ROOT);
    if (!isAnswered || !this.#scopes.areOver) {
      const text =
        "unexpected deadlock, at least one output is not set while no more ensemble steps can be made";
      this.#fail(new InferenceError("INVALID_ARG", text));
      return;
    }
    this.#recordSuccess();
    this.#request.sink.onComplete();
    this.#end();
  }

  #recordSuccess(): void {
    const { statistics, clock } = this.#options;
    const { queueNs, computeInputNs, computeInferNs, computeOutputNs } = this.#times;
    const rows = this.#request.validated?.batchSize ?? 1;
    statistics.recordExecution(rows, computeInputNs, computeInferNs, computeOutputNs);
    statistics.recordSuccess({
      requestNs: clock.nowNs() - this.#request.arrivalNs,
      ...this.#times,
    });
    this.#request.onSucceeded?.(queueNs, computeInputNs, computeInferNs, computeOutputNs);
  }

  /**
   * Ends the request and asks all steps to stop. Their requests need not end first: what still reads the client's
   * bytes sits in a queue and leaves it at once.
   */
  #fail(error: InferenceError): void {
    if (this.#request.isEnded) return;
    if (this.#isStarting) {
      this.#earlyError ??= error;
      return;
    }
    const request = this.#request;
    request.isEnded = true;
    for (const running of this.#running.keys()) running.cancel();
    const { statistics, clock, config } = this.#options;
    const isCancelled = request.isCancelled;
    const reason = isCancelled ? "CANCELED" : "OTHER";
    statistics.recordFailure(reason, clock.nowNs() - request.arrivalNs);
    const text = isCancelled ? error.message : `in ensemble '${config.name}', ${error.message}`;
    request.sink.onError(new InferenceError(error.code, text, { cause: error, reason }), true);
    this.#end();
  }

  #end(): void {
    this.#request.isEnded = true;
    this.#request.onCancel = undefined;
    this.#onEnded();
  }
}
