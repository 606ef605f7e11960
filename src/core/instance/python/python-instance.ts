import type { Clock } from "../../../base/clock.ts";
import { InferenceError, inferenceErrorFrom } from "../../../base/error.ts";
import type { Logger } from "../../../base/log.ts";
import type { ExecutionSignature } from "../../backend/backend-model.ts";
import type { Batch } from "../../request/batch.ts";
import type { InferenceRequest } from "../../request/inference-request.ts";
import type { RequestAnswers } from "../../request/request-answers.ts";
import { NO_PARAMETERS } from "../../request/request-signature.ts";
import type { InstanceHealthListener, SupervisedInstance } from "../instance-health.ts";
import type { ExecutionResult } from "../model-instance.ts";
import { RestartBackoff } from "../restart-backoff.ts";
import { parametersFromText, parametersTextOf } from "./python-parameters.ts";
import { errorFromWire, type PythonSession, type PythonSessionListener } from "./python-session.ts";
import type { OutgoingTensor, TensorEntry } from "./python-tensors.ts";

type Message = Readonly<Record<string, unknown>>;
type OnExecuted = (result: ExecutionResult) => void;

/** What a {@link PythonInstance} is made of. */
export interface PythonInstanceOptions {
  readonly modelName: string;
  readonly name: string;
  readonly signature: ExecutionSignature;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long `finalize` may take, in ms. */
  readonly finalizeTimeoutMs: number;
  /** How long `is_ready` may take, in ms. */
  readonly readyTimeoutMs: number;
  /** Starts a fresh process after a crash: opens the model and makes its object again. */
  restart(): Promise<StartedPython>;
}

/** A process in which the model's object has been made. */
export interface StartedPython {
  readonly session: PythonSession;
  /** Whether the model has an `is_ready` of its own. */
  readonly hasReadyCheck: boolean;
}

/** A request that the process has and that has no end yet. */
interface ActiveRequest {
  readonly request: InferenceRequest;
  readonly answers: RequestAnswers;
}

interface RunningBatch {
  readonly key: number;
  readonly batch: Batch;
  readonly requestKeys: readonly number[];
  readonly onExecuted: OnExecuted;
  readonly answers: RequestAnswers;
}

/** A result in place of a response: the request is to run again. */
const RESCHEDULED = "again";

/** The main thread's handle on an instance of a Python model. Answers request by request. */
export class PythonInstance implements SupervisedInstance, PythonSessionListener {
  readonly name: string;
  readonly capacity = 1;
  health: InstanceHealthListener | undefined = undefined;
  readonly #options: PythonInstanceOptions;
  readonly #active = new Map<number, ActiveRequest>();
  readonly #backoff: RestartBackoff;
  #started: StartedPython | undefined;
  #running: RunningBatch | undefined;
  #cancelRestart: (() => void) | undefined;
  #restarting: Promise<void> | undefined;
  #disposal: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;
  /** The question that is under way: all who want to know meanwhile share its answer. */
  #readyCheck: Promise<boolean> | undefined;

  constructor(options: PythonInstanceOptions, started: StartedPython) {
    this.name = options.name;
    this.#options = options;
    this.#backoff = new RestartBackoff(options.clock);
    this.#adopt(started);
  }

  get isReady(): boolean {
    return this.#started !== undefined && this.#disposal === undefined;
  }

  /** What the model's own `is_ready` says; true where it has none. A model that runs a batch is not asked. */
  async checkReady(): Promise<boolean> {
    const started = this.#started;
    if (started === undefined) return false;
    if (!started.hasReadyCheck || this.#running !== undefined) return true;
    this.#readyCheck ??= this.#askReady(started).finally(() => {
      this.#readyCheck = undefined;
    });
    return this.#readyCheck;
  }

  async #askReady(started: StartedPython): Promise<boolean> {
    try {
      const answer = await started.session.ask({ t: "h", c: 0 }, this.#options.readyTimeoutMs);
      return answer["v"] === true;
    } catch {
      return false;
    }
  }

  execute(batch: Batch, onExecuted: OnExecuted, answers: RequestAnswers): void {
    const session = this.#started?.session;
    try {
      if (session === undefined) {
        throw new InferenceError("UNAVAILABLE", `instance '${this.name}' is not ready`);
      }
      this.#send(session, batch, onExecuted, answers);
    } catch (thrown) {
      const error = inferenceErrorFrom(thrown);
      setImmediate(() => onExecuted(outcome(error)));
    }
  }

  /** Python models see cancellations request by request. */
  cancel(): void {
    return;
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  onBatchDone(message: Message, tail: Uint8Array): void {
    const running = this.#running;
    if (running === undefined || running.key !== message["b"]) return;
    this.#running = undefined;
    const error =
      typeof message["e"] === "string" ? errorFromWire(["INTERNAL", message["e"]]) : undefined;
    if (error !== undefined) for (const key of running.requestKeys) this.#active.delete(key);
    const results = message["rs"];
    if (Array.isArray(results)) this.#reschedule(running, results);
    const [computeInputNs = 0, computeInferNs = 0, computeOutputNs = 0] = message["n"] as number[];
    // The next batch starts in here, before the answers of this one are written.
    running.onExecuted({
      ...outcome(error),
      computeInputNs,
      computeInferNs,
      computeOutputNs,
    });
    if (Array.isArray(results)) this.#answerBatch(running, results, tail);
    this.#tellIdle();
  }

  onResponse(message: Message, tail: Uint8Array): void {
    const key = Number(message["r"]);
    const active = this.#active.get(key);
    const isFinal = message["f"] !== 0;
    if (isFinal) this.#active.delete(key);
    this.#answer(active, message, tail, isFinal);
    this.#tellIdle();
  }

  onClosed(cause: InferenceError): void {
    this.#started = undefined;
    if (this.#disposal === undefined) {
      this.#options.logger.error("the process of a Python instance ended unexpectedly", {
        model: this.#options.modelName,
        instance: this.name,
        error: cause.message,
      });
      this.health?.onDownInstance(this, cause, false);
      this.#scheduleRestart();
    }
    const running = this.#running;
    this.#running = undefined;
    const orphans = [...this.#active.values()];
    this.#active.clear();
    running?.onExecuted(outcome(cause));
    for (const { request, answers } of orphans) answers.fail(request, cause, true);
    this.#tellIdle();
  }

  #adopt(started: StartedPython): void {
    this.#started = started;
    started.session.listener = this;
    this.#backoff.started();
  }

  #send(
    session: PythonSession,
    batch: Batch,
    onExecuted: OnExecuted,
    answers: RequestAnswers,
  ): void {
    const batchKey = session.nextKey();
    const tail: Uint8Array[] = [];
    const outgoing: OutgoingTensor[] = [];
    const counts: number[] = [];
    for (const [i, request] of batch.requests.entries()) {
      counts.push(this.#collect(request, outgoing) + addExtras(batch, i, this.#options, outgoing));
    }
    const placed = session.tensors.place(outgoing, tail, 0, batchKey);
    const requestKeys: number[] = [];
    let at = 0;
    const rows = batch.requests.map((request, i) => {
      const key = session.nextKey();
      requestKeys.push(key);
      const entries = placed.entries.slice(at, at + (counts[i] ?? 0));
      at += counts[i] ?? 0;
      this.#active.set(key, { request, answers });
      const tellScheduler = request.onCancel;
      request.onCancel = () => {
        this.#cancel(key);
        tellScheduler?.(request);
      };
      return rowOf(key, request, entries);
    });
    this.#running = { key: batchKey, batch, requestKeys, onExecuted, answers };
    session.send(JSON.stringify({ t: "x", b: batchKey, r: rows, l: placed.lease }), tail);
  }

  /** Adds the inputs of a request, in the model's order. @returns how many. */
  #collect(request: InferenceRequest, outgoing: OutgoingTensor[]): number {
    const { validated } = request;
    if (validated === undefined) return 0;
    let count = 0;
    for (const [i, input] of this.#options.signature.inputs.entries()) {
      const position = validated.inputOrder[i] ?? -1;
      const bytes = request.inputBytes[position];
      if (position < 0 || bytes === undefined) continue;
      outgoing.push({
        nameOrIndex: i,
        datatype: input.datatype,
        shape: validated.backendShapes[i] ?? [],
        bytes,
      });
      count += 1;
    }
    return count;
  }

  #cancel(key: number): void {
    this.#started?.session.send(JSON.stringify({ t: "k", r: key }));
  }

  /** The scheduler has to know before the batch is over which of its requests run again. */
  #reschedule(running: RunningBatch, results: readonly unknown[]): void {
    for (const [i, result] of results.entries()) {
      if (result !== RESCHEDULED) continue;
      const key = running.requestKeys[i] ?? 0;
      const active = this.#active.get(key);
      this.#active.delete(key);
      if (active !== undefined) active.answers.reschedule(active.request);
    }
  }

  #answerBatch(running: RunningBatch, results: readonly unknown[], tail: Uint8Array): void {
    for (const [i, result] of results.entries()) {
      // Answered by a response sender, now or later; or not at all.
      if (result === null || result === RESCHEDULED) continue;
      const key = running.requestKeys[i] ?? 0;
      const active = this.#active.get(key);
      this.#active.delete(key);
      this.#answer(active, result as Message, tail, true);
    }
  }

  /** One response, error or end. Blocks of shared memory are returned also when nobody waits for the answer. */
  #answer(
    active: ActiveRequest | undefined,
    message: Message,
    tail: Uint8Array,
    isFinal: boolean,
  ): void {
    const session = this.#started?.session;
    if (session === undefined) return;
    const entries = message["o"] as readonly TensorEntry[] | undefined;
    try {
      const tensors = entries?.map((entry) => session.read(entry, tail));
      if (active === undefined) return;
      const { request, answers } = active;
      if (message["e"] !== undefined && message["e"] !== null) {
        answers.fail(request, errorFromWire(message["e"]), isFinal);
      } else if (tensors === undefined) {
        answers.complete(request);
      } else {
        answers.respond(request, tensors, parametersFromText(message["p"]), isFinal);
      }
    } catch (thrown) {
      const error = new InferenceError(
        "INTERNAL",
        `instance '${this.name}' sent an unreadable response: ${inferenceErrorFrom(thrown).message}`,
        { reason: "BACKEND", cause: thrown },
      );
      if (active !== undefined) active.answers.fail(active.request, error, isFinal);
    } finally {
      session.returnBlocks();
    }
  }

  #tellIdle(): void {
    if (this.#running === undefined && this.#active.size === 0) this.#onIdle?.();
  }

  #scheduleRestart(): void {
    this.#cancelRestart = this.#options.clock.after(this.#backoff.nextDelayNs(), () => {
      this.#restarting = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    try {
      const started = await this.#options.restart();
      if (this.#disposal !== undefined) {
        await started.session.end(this.#options.finalizeTimeoutMs);
        return;
      }
      this.#adopt(started);
      this.health?.onReady(this);
    } catch (thrown) {
      const error = inferenceErrorFrom(thrown);
      this.#options.logger.error("cannot restart a Python instance", {
        model: this.#options.modelName,
        instance: this.name,
        error: error.message,
      });
      this.health?.onDownInstance(this, error, true);
      if (this.#disposal === undefined) this.#scheduleRestart();
    }
  }

  async #dispose(): Promise<void> {
    this.#cancelRestart?.();
    await this.#restarting;
    if (this.#running !== undefined || this.#active.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#started?.session.end(this.#options.finalizeTimeoutMs);
  }
}

/** Adds what the scheduler gives to a request besides its inputs. @returns how many tensors. */
function addExtras(
  { extras }: Batch,
  requestIndex: number,
  { signature }: PythonInstanceOptions,
  outgoing: OutgoingTensor[],
): number {
  if (extras === undefined) return 0;
  for (const { index, shape, bytes } of extras.inputs) {
    const datatype = signature.inputs[index]?.datatype ?? "UINT8";
    const own = bytes[requestIndex] ?? new Uint8Array(0);
    outgoing.push({ nameOrIndex: index, datatype, shape, bytes: own });
  }
  return extras.inputs.length;
}

/** One request of an `x` frame, as `tribune_request.py` reads it. */
function rowOf(key: number, request: InferenceRequest, entries: readonly TensorEntry[]): unknown[] {
  const { signature, sequenceId } = request;
  return [
    key,
    request.id,
    typeof sequenceId === "string" ? sequenceId : sequenceId === 0n ? 0 : [String(sequenceId)],
    request.sequenceFlags,
    signature.timeoutMicroseconds,
    parametersTextOf(signature),
    signature.outputs.length === 0 ? null : signature.outputs.map(({ name }) => name),
    entries,
  ];
}

/** A result of an instance that answers by itself. */
function outcome(error: InferenceError | undefined): ExecutionResult {
  return {
    error,
    isAnsweredByInstance: true,
    outputs: [],
    requestErrors: new Map(),
    sharedParameters: NO_PARAMETERS,
    requestParameters: new Map(),
    computeInputNs: 0,
    computeInferNs: 0,
    computeOutputNs: 0,
  };
}
