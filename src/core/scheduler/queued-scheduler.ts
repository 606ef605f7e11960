import type { InferenceError } from "../../base/error.ts";
import { InferenceError as InferenceFailure } from "../../base/error.ts";
import type { ExecutionResult, ModelInstance } from "../instance/model-instance.ts";
import type { Batch } from "../request/batch.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import type { RequestAnswers } from "../request/request-answers.ts";
import { requestPrefix } from "../request/request-prefix.ts";
import { type BatchRules, formBatch } from "./batch-former.ts";
import { BatchDelivery, cancelledError } from "./deliver-batch.ts";
import { PendingEntry, PendingQueue } from "./pending-queue.ts";
import { deadlineNs, isUnlimited, type QueuePolicy } from "./queue-policy.ts";
import { OrderedAnswers, ResponseOrder } from "./response-order.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import { stoppingError } from "./stopping-error.ts";

/** What a {@link QueuedScheduler} decides by. */
export interface QueueRules {
  readonly batch: BatchRules;
  /** One for each priority level, most urgent first; at least one. */
  readonly policies: readonly QueuePolicy[];
  /** Level of requests that name none, or one that does not exist; counts from 1. */
  readonly defaultPriorityLevel: number;
  /** Responses leave in the order in which requests came. */
  readonly preservesOrdering: boolean;
  /** An idle instance takes what is there instead of waiting for the delay. */
  readonly isWorkConserving: boolean;
}

/**
 * Batches that take longer than this are not given to busy instances: what a wake-up costs no longer matters then,
 * but that a batch waits behind a long one while another instance may become idle does.
 */
const LONGEST_AHEAD_NS = 1_000_000;

/** A batch on an instance. */
class RunningBatch {
  readonly instance: ModelInstance;
  readonly batch: Batch;
  readonly startedNs: number;
  /** Requests of the batch whose client still waits. */
  wantedCount: number;
  isOver = false;

  constructor(instance: ModelInstance, batch: Batch, startedNs: number) {
    this.instance = instance;
    this.batch = batch;
    this.startedNs = startedNs;
    this.wantedCount = batch.requests.length;
  }
}

/**
 * Queues requests and hands them to free instances in batches. Looks for work after each of the three events that can
 * make some: a request came, a batch ended, the timer fired.
 *
 * With an idle instance a request waits for the end of the event loop's turn, so that requests that arrived together
 * run together.
 */
export class QueuedScheduler implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #rules: QueueRules;
  readonly #queue: PendingQueue;
  readonly #delivery: BatchDelivery;
  readonly #order: ResponseOrder | undefined;
  /** Where instances that answer by themselves leave their answers. */
  readonly #answers: RequestAnswers;
  /** Whether batches may wait at busy instances; not where they could still change or expire in the queue. */
  readonly #mayRunAhead: boolean;
  /** What the last batch took in its host. */
  #lastComputeNs = Number.POSITIVE_INFINITY;
  readonly #cancelQueued = (request: InferenceRequest): void => this.#onQueuedCancel(request);
  readonly #cancelRunning = (request: InferenceRequest): void => this.#onRunningCancel(request);
  readonly #dispatchSoon = (): void => {
    this.#isDispatchScheduled = false;
    this.#dispatch();
  };
  #isDispatchScheduled = false;
  #cancelTimer: (() => void) | undefined;
  #timerNs = Number.POSITIVE_INFINITY;
  #inflightCount = 0;
  #stopped: PromiseWithResolvers<void> | undefined;

  constructor(options: SchedulerOptions, rules: QueueRules) {
    this.#options = options;
    this.#rules = rules;
    this.#queue = new PendingQueue(rules.policies.length);
    const onEnded = (request: InferenceRequest): void => this.#onEnded(request);
    this.#delivery = new BatchDelivery(options, onEnded);
    this.#order = rules.preservesOrdering ? new ResponseOrder() : undefined;
    this.#answers =
      this.#order === undefined ? this.#delivery : new OrderedAnswers(this.#order, this.#delivery);
    this.#mayRunAhead =
      !rules.preservesOrdering && rules.policies.length === 1 && rules.policies.every(isUnlimited);
    options.pool.onFree = () => this.#dispatch();
    options.pool.onDown = (reason) => this.#failQueued(reason);
  }

  get inflightCount(): number {
    return this.#inflightCount;
  }

  get pendingCount(): number {
    return this.#queue.count;
  }

  enqueue(request: InferenceRequest): void {
    if (this.#stopped !== undefined) throw stoppingError();
    const level = this.#levelOf(request);
    const policy = this.#rules.policies[level - 1];
    if (policy === undefined) throw new RangeError(`no queue policy for level ${level}`);
    this.#makeRoom(level - 1, policy, request);
    const nowNs = this.#options.clock.nowNs();
    request.queueStartNs = nowNs;
    const expiryNs = deadlineNs(policy, request.signature.timeoutMicroseconds, nowNs);
    const entry = new PendingEntry(request, level - 1, nowNs, expiryNs);
    this.#queue.append(entry);
    request.ownerNote = entry;
    this.#order?.opened(request);
    request.onCancel = this.#cancelQueued;
    this.#inflightCount += 1;
    this.#wakeAt(entry.deadlineNs);
    if (!this.#isDispatchScheduled && (this.#options.pool.hasFree || this.#isRunningAhead)) {
      this.#isDispatchScheduled = true;
      setImmediate(this.#dispatchSoon);
    }
  }

  stop(): Promise<void> {
    if (this.#stopped === undefined) {
      this.#stopped = Promise.withResolvers<void>();
      this.#dispatch();
      this.#resolveWhenIdle();
    }
    return this.#stopped.promise;
  }

  #levelOf(request: InferenceRequest): number {
    const { priority } = request.signature;
    const isKnown = priority >= 1 && priority <= this.#rules.policies.length;
    return isKnown ? priority : this.#rules.defaultPriorityLevel;
  }

  /** @throws InferenceError UNAVAILABLE when the level is full and no instance can take what it holds. */
  #makeRoom(level: number, policy: QueuePolicy, request: InferenceRequest): void {
    const isFull = (): boolean =>
      policy.maxQueueSize > 0 && this.#queue.levelCount(level) >= policy.maxQueueSize;
    if (!isFull()) return;
    // Requests of this turn of the event loop may still wait for its end although an instance is free.
    this.#dispatch();
    if (!isFull()) return;
    const elapsedNs = this.#options.clock.nowNs() - request.arrivalNs;
    this.#options.statistics.recordFailure("REJECTED", elapsedNs);
    throw new InferenceFailure(
      "UNAVAILABLE",
      `${requestPrefix(request.id)}Exceeds maximum queue size`,
      {
        reason: "REJECTED",
      },
    );
  }

  /** Whether a batch that is full need not wait until an instance is idle. */
  get #isRunningAhead(): boolean {
    return this.#mayRunAhead && this.#lastComputeNs <= LONGEST_AHEAD_NS;
  }

  /**
   * Hands out batches as long as there are some and instances are free, then sets the timer for what is left. An idle
   * instance takes what is there; a busy one gets only what no further request could join.
   */
  #dispatch(): void {
    const nowNs = this.#options.clock.nowNs();
    this.#expire(nowNs);
    const { pool } = this.#options;
    let wakeNs = this.#queue.nextToExpire()?.deadlineNs ?? Number.POSITIVE_INFINITY;
    while (this.#queue.count > 0 && (pool.hasFree || this.#isRunningAhead)) {
      const rules = this.#rulesNow();
      const decision = formBatch(rules, this.#queue, this.#queue.oldestQueuedNs(), nowNs);
      if (decision.kind === "wait" && pool.hasFree) wakeNs = Math.min(wakeNs, decision.untilNs);
      if (decision.kind !== "take") break;
      const instance = pool.acquire() ?? (decision.isFull ? pool.acquireAhead() : undefined);
      if (instance === undefined) break;
      this.#start(instance, this.#take(decision.count), nowNs);
    }
    this.#wakeAt(wakeNs);
  }

  #rulesNow(): BatchRules {
    const { batch, isWorkConserving } = this.#rules;
    // Nobody else can join once the scheduler has stopped: waiting would only hold up the end.
    const isImpatient = isWorkConserving || this.#stopped !== undefined;
    return isImpatient && batch.maxQueueDelayNs > 0 ? { ...batch, maxQueueDelayNs: 0 } : batch;
  }

  #take(count: number): Batch {
    let rowCount = 0;
    const requests: InferenceRequest[] = [];
    for (let entry = this.#queue.first(); entry !== undefined; entry = this.#queue.first()) {
      if (requests.length === count) break;
      this.#queue.remove(entry);
      requests.push(entry.request);
      rowCount += entry.batchSize;
    }
    return { requests, rowCount };
  }

  #start(instance: ModelInstance, batch: Batch, nowNs: number): void {
    const { requests } = batch;
    const running = new RunningBatch(instance, batch, nowNs);
    for (const request of requests) {
      request.computeStartNs = nowNs;
      request.onCancel = this.#cancelRunning;
      request.ownerNote = running;
    }
    instance.execute(batch, (result) => this.#onExecuted(running, result), this.#answers);
  }

  #onExecuted(running: RunningBatch, result: ExecutionResult): void {
    this.#options.pool.release(running.instance);
    this.#lastComputeNs = result.computeInputNs + result.computeInferNs + result.computeOutputNs;
    // An instance may go on answering by itself; cancelling the next batch must not be taken for this one.
    running.isOver = true;
    // The next batch starts before this one's answers are written: the instance works meanwhile.
    this.#dispatch();
    const isAnswered = result.isAnsweredByInstance === true && result.error === undefined;
    if (this.#order === undefined || isAnswered) {
      this.#delivery.deliver(running.batch, result, running.startedNs);
    } else {
      this.#order.deliver(running.batch, result, (kept) =>
        this.#delivery.deliver(running.batch, kept, running.startedNs),
      );
    }
  }

  /** Fails (or puts back) what has waited too long. */
  #expire(nowNs: number): void {
    for (
      let entry = this.#queue.nextToExpire();
      entry !== undefined;
      entry = this.#queue.nextToExpire()
    ) {
      if (entry.deadlineNs > nowNs) return;
      if (this.#rules.policies[entry.level]?.timeoutAction === "DELAY") {
        this.#queue.delay(entry);
      } else {
        this.#drop(
          entry,
          new InferenceFailure("UNAVAILABLE", "Request timeout expired", { reason: "REJECTED" }),
        );
      }
    }
  }

  #drop(entry: PendingEntry, error: InferenceError): void {
    this.#queue.remove(entry);
    this.#order?.abandoned(entry.request);
    this.#delivery.fail(entry.request, error, true);
  }

  #failQueued(reason: InferenceError): void {
    for (const entry of [...this.#queue]) this.#drop(entry, reason);
  }

  #onQueuedCancel(request: InferenceRequest): void {
    const { ownerNote } = request;
    if (ownerNote instanceof PendingEntry) this.#drop(ownerNote, cancelledError());
  }

  #onRunningCancel(request: InferenceRequest): void {
    const running = request.ownerNote;
    if (!(running instanceof RunningBatch) || running.isOver) return;
    running.wantedCount -= 1;
    if (running.wantedCount === 0) running.instance.cancel(running.batch);
  }

  /**
   * Sees to it that the scheduler looks for work at that instant. A timer that is set for an earlier one stays: it
   * will look again, and leaving it costs nothing, while a timer anew for each batch costs 30 µs of CPU each.
   */
  #wakeAt(wakeNs: number): void {
    if (wakeNs >= this.#timerNs) return;
    this.#cancelTimer?.();
    this.#timerNs = wakeNs;
    const delayNs = Math.max(0, wakeNs - this.#options.clock.nowNs());
    this.#cancelTimer = this.#options.clock.after(delayNs, () => {
      this.#cancelTimer = undefined;
      this.#timerNs = Number.POSITIVE_INFINITY;
      this.#dispatch();
    });
  }

  #onEnded(_request: InferenceRequest): void {
    this.#inflightCount -= 1;
    this.#resolveWhenIdle();
  }

  #resolveWhenIdle(): void {
    if (this.#stopped === undefined || this.#inflightCount > 0) return;
    this.#cancelTimer?.();
    this.#stopped.resolve();
  }
}
