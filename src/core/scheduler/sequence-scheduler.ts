import type { InferenceError } from "../../base/error.ts";
import type { SequenceBatching } from "../config/sequence-batching.ts";
import type { ExecutionResult, ModelInstance } from "../instance/model-instance.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import { SEQUENCE_END, SEQUENCE_START } from "../request/request-signature.ts";
import { Alarm } from "./alarm.ts";
import { BatchDelivery, cancelledError } from "./deliver-batch.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import { Sequence } from "./sequence.ts";
import {
  backlogTimeoutError,
  checkSequenceRequest,
  hasSequenceId,
  notStartedError,
} from "./sequence-admission.ts";
import { SequenceBacklog } from "./sequence-backlog.ts";
import { SequenceBatchMaker } from "./sequence-batch-maker.ts";
import { SequenceIdleness } from "./sequence-idleness.ts";
import { type RunningSequences, SequenceLane } from "./sequence-lane.ts";
import { SequenceSlots } from "./sequence-slots.ts";
import { stoppingError } from "./stopping-error.ts";

const NS_PER_MICROSECOND = 1000;

/**
 * Keeps the requests of a sequence together: on one instance, in order, one at a time. A sequence has a slot of an
 * instance from its START until its END, until its client has been silent too long, or until a request is cancelled;
 * sequences without a slot wait in the backlog. What runs together is the strategy's business, see
 * `choose-sequences.ts`.
 *
 * An iterative sequence is one request that runs until its model is done with it.
 *
 * @see Triton docs, "Sequence Batcher", "Iterative Sequences", "Implicit State Management".
 */
export class SequenceScheduler implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #batching: SequenceBatching;
  readonly #delivery: BatchDelivery;
  readonly #lanes: readonly SequenceLane[];
  readonly #laneOf: ReadonlyMap<ModelInstance, SequenceLane>;
  readonly #slots: SequenceSlots;
  readonly #backlog = new SequenceBacklog();
  readonly #backlogAlarm: Alarm;
  readonly #idleness: SequenceIdleness;
  readonly #maker: SequenceBatchMaker;
  /** The last sequence of each id. */
  readonly #open = new Map<bigint | string, Sequence>();
  readonly #cancel = (request: InferenceRequest): void => this.#onCancel(request);
  readonly #dispatchScheduled = (): void => this.#onTurnEnd();
  #scheduled: SequenceLane[] = [];
  #lastGivenId = 0n;
  #inflightCount = 0;
  #pendingCount = 0;
  #finished: PromiseWithResolvers<void> | undefined;
  #stopped: PromiseWithResolvers<void> | undefined;

  constructor(options: SchedulerOptions, batching: SequenceBatching) {
    const { config, signature, pool, clock } = options;
    this.#options = options;
    this.#batching = batching;
    this.#delivery = new BatchDelivery(
      options,
      (request) => this.#onEnded(request),
      batching.isIterative ? (request) => this.#onRescheduled(request) : undefined,
    );
    this.#lanes = pool.activeInstances.map(
      (instance) =>
        new SequenceLane(instance, batching.strategy, config.maxBatchSize, clock, (lane) =>
          this.#dispatch(lane),
        ),
    );
    this.#laneOf = new Map(this.#lanes.map((lane) => [lane.instance, lane]));
    this.#slots = new SequenceSlots(this.#lanes);
    this.#backlogAlarm = new Alarm(clock, (nowNs) => this.#expireBacklog(nowNs));
    this.#idleness = new SequenceIdleness(clock, batching.maxIdleNs, (sequence) =>
      this.#end(sequence, cancelledError()),
    );
    this.#maker = new SequenceBatchMaker(batching, signature, config.inputs.length);
    pool.onFree = () => this.#onFree();
    pool.onLost = (instance, reason) => this.#onLost(instance, reason);
    pool.onDown = (reason) => this.#failWaiting(reason);
  }

  get inflightCount(): number {
    return this.#inflightCount;
  }

  get pendingCount(): number {
    return this.#pendingCount;
  }

  enqueue(request: InferenceRequest): void {
    const { controls, isIterative } = this.#batching;
    const correlation = controls.find(({ kind }) => kind === "CORRID");
    checkSequenceRequest(request, this.#options.config.name, correlation, !isIterative);
    const sequence = isIterative
      ? this.#iterativeSequence(request, correlation?.datatype === "BYTES")
      : this.#sequenceOf(request);
    const nowNs = this.#options.clock.nowNs();
    request.queueStartNs = nowNs;
    request.ownerNote = sequence;
    request.onCancel = this.#cancel;
    this.#inflightCount += 1;
    this.#pendingCount += 1;
    this.#idleness.remove(sequence);
    sequence.append(request);
    if (sequence.slot !== undefined) {
      this.#offer(sequence, nowNs);
      return;
    }
    if (sequence.predecessor === undefined) this.#backlog.add(sequence);
    this.#assignSlots(nowNs);
    if (sequence.slot !== undefined) return;
    const { timeoutMicroseconds } = request.signature;
    if (timeoutMicroseconds === 0) return;
    this.#backlog.limit(sequence, nowNs + timeoutMicroseconds * NS_PER_MICROSECOND);
    this.#backlogAlarm.set(this.#backlog.nextToExpire?.deadlineNs ?? Number.POSITIVE_INFINITY);
  }

  finishSequences(): Promise<void> {
    this.#finished ??= Promise.withResolvers<void>();
    this.#resolveWhenIdle();
    return this.#finished.promise;
  }

  stop(): Promise<void> {
    if (this.#stopped === undefined) {
      this.#stopped = Promise.withResolvers<void>();
      for (const lane of this.#lanes) this.#dispatch(lane);
      this.#resolveWhenIdle();
    }
    return this.#stopped.promise;
  }

  get #refusesSequences(): boolean {
    return this.#finished !== undefined || this.#stopped !== undefined;
  }

  /** @throws InferenceError INVALID_ARG where the sequence has not started, UNAVAILABLE where it may not. */
  #sequenceOf(request: InferenceRequest): Sequence {
    const { sequenceId, sequenceFlags } = request;
    const isStart = (sequenceFlags & SEQUENCE_START) !== 0;
    // With the last request the instances go.
    const isStopped = this.#stopped !== undefined && this.#inflightCount === 0;
    if (isStopped || (isStart && this.#refusesSequences)) throw stoppingError();
    const last = this.#open.get(sequenceId);
    let sequence = last;
    if (sequence === undefined || sequence.isClosed) {
      if (!isStart) throw notStartedError(request, this.#options.config.name);
      sequence = new Sequence(sequenceId, this.#maker.initialStateKey);
      if (last !== undefined) sequence.follow(last);
      this.#open.set(sequenceId, sequence);
    } else if (isStart) {
      this.#options.logger?.warning(
        `sequence ${sequenceId} for model '${this.#options.config.name}' has a conflict. ` +
          "The previous sequence did not end before this sequence start. Previous sequence will be terminated early.",
      );
    }
    if ((sequenceFlags & SEQUENCE_END) !== 0) sequence.isClosed = true;
    return sequence;
  }

  #iterativeSequence(request: InferenceRequest, isIdText: boolean): Sequence {
    if (this.#refusesSequences) throw stoppingError();
    if (!hasSequenceId(request)) {
      this.#lastGivenId += 1n;
      request.sequenceId = isIdText ? String(this.#lastGivenId) : this.#lastGivenId;
    }
    request.sequenceFlags |= SEQUENCE_START;
    return new Sequence(undefined, this.#maker.initialStateKey);
  }

  /** Its oldest waiting request can run as soon as the instance is free. */
  #offer(sequence: Sequence, nowNs: number): void {
    const lane = sequence.slot?.lane;
    if (lane === undefined || sequence.running !== undefined) return;
    if (lane.ready.has(sequence)) return;
    lane.setReady(sequence, nowNs);
    this.#schedule(lane);
  }

  /** Requests that arrive in one turn of the event loop run together. */
  #schedule(lane: SequenceLane): void {
    if (lane.isScheduled || lane.running !== undefined) return;
    lane.isScheduled = true;
    if (this.#scheduled.push(lane) === 1) setImmediate(this.#dispatchScheduled);
  }

  #onTurnEnd(): void {
    const lanes = this.#scheduled;
    this.#scheduled = [];
    for (const lane of lanes) {
      lane.isScheduled = false;
      this.#dispatch(lane);
    }
  }

  /** Hands the free slots to the sequences that have waited longest. */
  #assignSlots(nowNs: number): void {
    for (let next = this.#backlog.first; next !== undefined; next = this.#backlog.first) {
      if (!this.#slots.assign(next)) break;
      this.#backlog.remove(next);
      this.#offer(next, nowNs);
    }
  }

  #dispatch(lane: SequenceLane): void {
    if (lane.running !== undefined || !lane.instance.isReady) return;
    const nowNs = this.#options.clock.nowNs();
    // Nobody else can join once the scheduler has stopped: waiting would only hold up the end.
    const decision = lane.choose(nowNs, this.#stopped !== undefined);
    lane.alarm.set(decision.kind === "wait" ? decision.untilNs : Number.POSITIVE_INFINITY);
    if (decision.kind !== "take" || !this.#options.pool.acquireInstance(lane.instance)) return;
    this.#start(lane, decision.rows, nowNs);
  }

  #start(lane: SequenceLane, rows: readonly (Sequence | undefined)[], nowNs: number): void {
    const batch = this.#maker.make(rows, nowNs);
    const running: RunningSequences = { batch, rows, startedNs: nowNs, wantedCount: 0 };
    lane.running = running;
    for (const sequence of rows) {
      if (sequence === undefined) continue;
      lane.ready.remove(sequence);
      running.wantedCount += 1;
      this.#pendingCount -= 1;
    }
    const { instance } = lane;
    instance.execute(batch, (result) => this.#onExecuted(lane, running, result), this.#delivery);
    // Slots whose last request runs now are free for the next sequence, which comes after this batch.
    for (const sequence of rows) {
      const isLast = ((sequence?.running?.sequenceFlags ?? 0) & SEQUENCE_END) !== 0;
      if (sequence !== undefined && isLast && !this.#batching.isIterative) this.#leave(sequence);
    }
    this.#assignSlots(nowNs);
  }

  #onExecuted(lane: SequenceLane, running: RunningSequences, result: ExecutionResult): void {
    const nowNs = this.#options.clock.nowNs();
    const { rows } = running;
    this.#maker.save(rows, result);
    lane.running = undefined;
    this.#options.pool.release(lane.instance);
    const isLost = result.error !== undefined;
    for (const sequence of rows) if (sequence !== undefined) this.#rest(sequence, isLost, nowNs);
    this.#assignSlots(nowNs);
    // The next batch starts before this one's answers are written: the instance works meanwhile.
    this.#dispatch(lane);
    this.#delivery.deliver(running.batch, result, running.startedNs);
  }

  /** What becomes of a sequence after one of its requests has run. */
  #rest(sequence: Sequence, isLost: boolean, nowNs: number): void {
    const request = sequence.running;
    const runsAgain = sequence.isRescheduled && !isLost;
    sequence.running = undefined;
    sequence.isRescheduled = false;
    if (runsAgain && request !== undefined && !request.isEnded) {
      if (request.isCancelled) this.#delivery.fail(request, cancelledError(), true);
      else this.#putBack(sequence, request, nowNs);
    } else if (this.#batching.isIterative) this.#leave(sequence);
    else if (sequence.isOver) return;
    else if (sequence.waitingCount > 0) this.#offer(sequence, nowNs);
    else this.#idleness.add(sequence, nowNs);
  }

  #putBack(sequence: Sequence, request: InferenceRequest, nowNs: number): void {
    request.sequenceFlags &= ~SEQUENCE_START;
    request.queueStartNs = nowNs;
    request.onCancel = this.#cancel;
    this.#pendingCount += 1;
    sequence.prepend(request);
    this.#offer(sequence, nowNs);
  }

  #onRescheduled(request: InferenceRequest): void {
    const sequence = sequenceNotedBy(request);
    if (sequence?.running === request) sequence.isRescheduled = true;
  }

  /** The sequence is over and its slot free; what it has running may finish. */
  #leave(sequence: Sequence): void {
    sequence.isOver = true;
    const { key, predecessor } = sequence;
    if (key !== undefined && this.#open.get(key) === sequence) {
      if (predecessor === undefined) this.#open.delete(key);
      else this.#open.set(key, predecessor);
    }
    this.#idleness.remove(sequence);
    this.#backlog.remove(sequence);
    this.#slots.release(sequence);
    const next = sequence.unchain();
    if (next !== undefined) this.#backlog.add(next);
    this.#resolveWhenIdle();
  }

  /** Ends a sequence early: its waiting requests fail. */
  #end(sequence: Sequence, reason: InferenceError): void {
    this.#leave(sequence);
    const dropped = sequence.takeAll();
    this.#pendingCount -= dropped.length;
    this.#assignSlots(this.#options.clock.nowNs());
    for (const request of dropped) this.#delivery.fail(request, reason, true);
  }

  #expireBacklog(nowNs: number): void {
    for (;;) {
      const next = this.#backlog.nextToExpire;
      if (next === undefined) return;
      if (next.deadlineNs > nowNs) {
        this.#backlogAlarm.set(next.deadlineNs);
        return;
      }
      this.#end(next, backlogTimeoutError());
    }
  }

  /** A cancelled request leaves a gap that the rest of its sequence cannot do without. */
  #onCancel(request: InferenceRequest): void {
    const sequence = sequenceNotedBy(request);
    if (sequence === undefined) return;
    const lane = this.#lanes.find(({ running }) => running?.rows.includes(sequence));
    const isRunning = sequence.running === request;
    this.#end(sequence, cancelledError());
    if (!isRunning || lane?.running === undefined) return;
    lane.running.wantedCount -= 1;
    if (lane.running.wantedCount === 0) lane.instance.cancel(lane.running.batch);
  }

  #onFree(): void {
    this.#assignSlots(this.#options.clock.nowNs());
    for (const lane of this.#lanes) this.#dispatch(lane);
  }

  /** What the instance remembered of its sequences is gone: none of them can go on. */
  #onLost(instance: ModelInstance, reason: InferenceError): void {
    for (const { sequence } of this.#laneOf.get(instance)?.slots ?? []) {
      if (sequence !== undefined) this.#end(sequence, reason);
    }
  }

  #failWaiting(reason: InferenceError): void {
    for (const sequence of [...this.#backlog]) this.#end(sequence, reason);
    for (const { slots } of this.#lanes) {
      for (const { sequence } of slots) if (sequence !== undefined) this.#end(sequence, reason);
    }
  }

  #onEnded(request: InferenceRequest): void {
    this.#inflightCount -= 1;
    if (this.#batching.isIterative) {
      // Its model may answer for good while it waits to run again.
      const sequence = sequenceNotedBy(request);
      if (sequence?.head === request) this.#end(sequence, cancelledError());
    }
    this.#resolveWhenIdle();
  }

  #resolveWhenIdle(): void {
    if (!this.#refusesSequences || this.#inflightCount > 0) return;
    if (this.#open.size === 0) this.#finished?.resolve();
    if (this.#stopped === undefined) return;
    this.#idleness.stop();
    this.#backlogAlarm.set(Number.POSITIVE_INFINITY);
    for (const { alarm } of this.#lanes) alarm.set(Number.POSITIVE_INFINITY);
    this.#stopped.resolve();
  }
}

function sequenceNotedBy({ ownerNote }: InferenceRequest): Sequence | undefined {
  return ownerNote instanceof Sequence ? ownerNote : undefined;
}
