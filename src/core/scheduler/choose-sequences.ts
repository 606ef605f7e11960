import type { SequenceStrategy } from "../config/sequence-batching.ts";
import { type BatchRules, formBatch } from "./batch-former.ts";
import type { Sequence } from "./sequence.ts";
import type { SequenceList } from "./sequence-list.ts";

/** The sequences whose oldest waiting requests run now, or how long to wait. */
export type LaneDecision =
  /** One for each row of the batch; undefined for a row that is padding. */
  | { readonly kind: "take"; readonly rows: readonly (Sequence | undefined)[] }
  | { readonly kind: "wait"; readonly untilNs: number }
  | { readonly kind: "empty" };

type DirectStrategy = Extract<SequenceStrategy, { readonly kind: "direct" }>;

const EMPTY: LaneDecision = { kind: "empty" };

/**
 * Direct strategy: a slot is a row. The batch reaches to the last slot that has a request; slots below it that have
 * none, or one that does not fit the first, are padding. Pure.
 *
 * @see Triton docs, "Sequence Batcher", "Direct".
 */
export function chooseDirect(
  slots: readonly { readonly sequence: Sequence | undefined }[],
  rules: DirectStrategy,
  nowNs: number,
): LaneDecision {
  let mergeKey: string | undefined;
  let oldestNs = Number.POSITIVE_INFINITY;
  let readyCount = 0;
  const rows: (Sequence | undefined)[] = [];
  for (const [row, { sequence }] of slots.entries()) {
    const head = sequence?.head;
    if (sequence === undefined || head === undefined) continue;
    mergeKey ??= sequence.mergeKey;
    if (sequence.mergeKey !== mergeKey) continue;
    readyCount += 1;
    oldestNs = Math.min(oldestNs, head.queueStartNs);
    while (rows.length < row) rows.push(undefined);
    rows.push(sequence);
  }
  if (readyCount === 0) return EMPTY;
  const dueNs = oldestNs + rules.maxQueueDelayNs;
  const isFull = readyCount / slots.length >= rules.minimumSlotUtilization;
  return isFull || nowNs >= dueNs ? { kind: "take", rows } : { kind: "wait", untilNs: dueNs };
}

/**
 * Oldest strategy: the sequences that have been ready longest, as a dynamic batcher would take their requests. Pure.
 *
 * @param ready with a waiting request and none running; longest ready first.
 * @see Triton docs, "Sequence Batcher", "Oldest".
 */
export function chooseOldest(ready: SequenceList, rules: BatchRules, nowNs: number): LaneDecision {
  const oldest = ready.head;
  if (oldest === undefined) return EMPTY;
  const decision = formBatch(rules, ready, oldest.readyNs, nowNs);
  if (decision.kind !== "take") return decision;
  const rows: Sequence[] = [];
  for (const sequence of ready) {
    if (rows.length === decision.count) break;
    rows.push(sequence);
  }
  return { kind: "take", rows };
}
