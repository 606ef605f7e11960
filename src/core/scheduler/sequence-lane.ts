import type { Clock } from "../../base/clock.ts";
import type { SequenceStrategy } from "../config/sequence-batching.ts";
import type { ModelInstance } from "../instance/model-instance.ts";
import type { Batch } from "../request/batch.ts";
import { Alarm } from "./alarm.ts";
import type { BatchRules } from "./batch-former.ts";
import { chooseDirect, chooseOldest, type LaneDecision } from "./choose-sequences.ts";
import type { Sequence, SequenceSlot } from "./sequence.ts";
import { SequenceList } from "./sequence-list.ts";

/** A batch of sequences on its instance. */
export interface RunningSequences {
  readonly batch: Batch;
  /** Whose request each of the batch's is; undefined for padding. */
  readonly rows: readonly (Sequence | undefined)[];
  readonly startedNs: number;
  /** Requests whose client still waits. */
  wantedCount: number;
}

/** One instance and the sequences that are pinned to it. */
export class SequenceLane {
  readonly instance: ModelInstance;
  readonly slots: readonly SequenceSlot[];
  /** Sequences with a request that could run, longest ready first. */
  readonly ready = new SequenceList();
  running: RunningSequences | undefined = undefined;
  /** It will be looked at before the event loop's turn ends. */
  isScheduled = false;
  /** Rings when a batch has waited for others long enough. */
  readonly alarm: Alarm;
  readonly #strategy: SequenceStrategy;
  readonly #batchRules: BatchRules;

  /** @param onDue told when a delay is over. */
  constructor(
    instance: ModelInstance,
    strategy: SequenceStrategy,
    maxBatchSize: number,
    clock: Clock,
    onDue: (lane: SequenceLane) => void,
  ) {
    this.instance = instance;
    this.#strategy = strategy;
    const rowCount = Math.max(1, maxBatchSize);
    const slotCount = strategy.kind === "direct" ? rowCount : strategy.maxCandidateSequences;
    this.slots = Array.from({ length: slotCount }, (_, number) => ({
      lane: this,
      number,
      sequence: undefined,
    }));
    this.#batchRules = {
      maxBatchSize: rowCount,
      preferredBatchSizes: strategy.kind === "oldest" ? strategy.preferredBatchSizes : [],
      maxQueueDelayNs: strategy.maxQueueDelayNs,
    };
    this.alarm = new Alarm(clock, () => onDue(this));
  }

  /** The sequence has a request that could run. */
  setReady(sequence: Sequence, nowNs: number): void {
    sequence.readyNs = nowNs;
    this.ready.append(sequence);
  }

  /** @param isImpatient nobody else will come: do not wait for a fuller batch. */
  choose(nowNs: number, isImpatient: boolean): LaneDecision {
    const strategy = this.#strategy;
    if (strategy.kind === "direct") {
      return chooseDirect(
        this.slots,
        isImpatient ? { ...strategy, maxQueueDelayNs: 0 } : strategy,
        nowNs,
      );
    }
    const rules = this.#batchRules;
    return chooseOldest(this.ready, isImpatient ? { ...rules, maxQueueDelayNs: 0 } : rules, nowNs);
  }
}
