/** What the former sees of a waiting request. */
export interface FormerRequest {
  /** Rows along the batch dimension. */
  readonly batchSize: number;
  /** Requests with different keys must not share a batch; "" fits every "". */
  readonly mergeKey: string;
}

/** How batches are formed; from `dynamic_batching` of the configuration. */
export interface BatchRules {
  /** 1..; a single larger request still runs, alone. */
  readonly maxBatchSize: number;
  /** Ascending. Sizes at which a batch leaves at once. */
  readonly preferredBatchSizes: readonly number[];
  /** How long the oldest request may wait for others; 0 = never. */
  readonly maxQueueDelayNs: number;
}

/** Requests that leave the queue now, or how long to wait. */
export type FormerDecision =
  /** The first `count` requests of the queue, in its order, run together now. */
  | {
      readonly kind: "take";
      readonly count: number;
      /** Nobody who comes later could join them. */
      readonly isFull: boolean;
    }
  /** Nothing leaves before this instant unless something changes. */
  | { readonly kind: "wait"; readonly untilNs: number }
  | { readonly kind: "empty" };

const EMPTY: FormerDecision = { kind: "empty" };

/**
 * Decides which waiting requests form the next batch. Pure: no timers, no I/O, no memory of earlier calls.
 * Looks at no more requests than fit a batch, so the cost does not grow with the queue.
 *
 * @param pending waiting requests in the order in which they are to run.
 * @param oldestQueuedNs when the longest waiting of all pending requests was queued.
 * @see Triton docs, "Dynamic Batcher".
 */
export function formBatch(
  rules: BatchRules,
  pending: Iterable<FormerRequest>,
  oldestQueuedNs: number,
  nowNs: number,
): FormerDecision {
  let count = 0;
  let rows = 0;
  let preferredCount = 0;
  let isFull = false;
  let mergeKey = "";
  const largestPreferred = rules.preferredBatchSizes.at(-1) ?? rules.maxBatchSize;
  for (const request of pending) {
    const requestRows = Math.max(1, request.batchSize);
    if (count === 0) {
      mergeKey = request.mergeKey;
    } else {
      // With this request no preferred size could be reached any more: what is there is the best there will be.
      if (preferredCount === 0 && rows + requestRows > largestPreferred) preferredCount = count;
      if (rows + requestRows > rules.maxBatchSize || request.mergeKey !== mergeKey) {
        isFull = true;
        break;
      }
    }
    count += 1;
    rows += requestRows;
    if (rules.preferredBatchSizes.includes(rows)) preferredCount = count;
    if (rows >= rules.maxBatchSize) {
      isFull = true;
      break;
    }
  }
  if (count === 0) return EMPTY;
  const dueNs = oldestQueuedNs + rules.maxQueueDelayNs;
  const isDelayOver = rules.maxQueueDelayNs > 0 && nowNs >= dueNs;
  if (preferredCount > 0 && !isDelayOver) return { kind: "take", count: preferredCount, isFull };
  const canGrow = !isFull && rows < largestPreferred;
  if (!canGrow || isDelayOver || rules.maxQueueDelayNs === 0)
    return { kind: "take", count, isFull };
  return { kind: "wait", untilNs: dueNs };
}
