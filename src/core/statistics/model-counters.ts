import type { FailureReason } from "../../base/error.ts";
import type {
  BatchTotal,
  DurationTotal,
  ModelStatistics,
  ModelStatisticsSnapshot,
  SuccessRecord,
} from "./model-statistics.ts";

/** A count and a sum of ns that grow in place. */
interface MutableTotal {
  count: number;
  ns: number;
}

interface MutableBatchTotal {
  readonly computeInput: MutableTotal;
  readonly computeInfer: MutableTotal;
  readonly computeOutput: MutableTotal;
}

const NOTHING: DurationTotal = { count: 0, ns: 0 };

function add(total: MutableTotal, ns: number): void {
  total.count += 1;
  total.ns += ns;
}

function newTotal(): MutableTotal {
  return { count: 0, ns: 0 };
}

/** The counters of one model version, kept in plain numbers. Main thread only. */
export class ModelCounters implements ModelStatistics {
  onSuccess: ((record: SuccessRecord) => void) | undefined = undefined;

  #lastInferenceMs = 0;
  #inferenceCount = 0;
  #executionCount = 0;
  readonly #success = newTotal();
  readonly #fail = newTotal();
  readonly #queue = newTotal();
  readonly #computeInput = newTotal();
  readonly #computeInfer = newTotal();
  readonly #computeOutput = newTotal();
  readonly #batches = new Map<number, MutableBatchTotal>();
  readonly #failuresByReason: Record<FailureReason, number> = {
    REJECTED: 0,
    CANCELED: 0,
    BACKEND: 0,
    OTHER: 0,
  };

  recordSuccess(record: SuccessRecord): void {
    add(this.#success, record.requestNs);
    add(this.#queue, record.queueNs);
    add(this.#computeInput, record.computeInputNs);
    add(this.#computeInfer, record.computeInferNs);
    add(this.#computeOutput, record.computeOutputNs);
    this.onSuccess?.(record);
  }

  recordFailure(reason: FailureReason, requestNs: number): void {
    add(this.#fail, requestNs);
    this.#failuresByReason[reason] += 1;
  }

  recordExecution(
    rowCount: number,
    computeInputNs: number,
    computeInferNs: number,
    computeOutputNs: number,
  ): void {
    this.#lastInferenceMs = Date.now();
    this.#inferenceCount += rowCount;
    this.#executionCount += 1;
    let batch = this.#batches.get(rowCount);
    if (batch === undefined) {
      batch = { computeInput: newTotal(), computeInfer: newTotal(), computeOutput: newTotal() };
      this.#batches.set(rowCount, batch);
    }
    add(batch.computeInput, computeInputNs);
    add(batch.computeInfer, computeInferNs);
    add(batch.computeOutput, computeOutputNs);
  }

  snapshot(): ModelStatisticsSnapshot {
    return {
      lastInferenceMs: this.#lastInferenceMs,
      inferenceCount: this.#inferenceCount,
      executionCount: this.#executionCount,
      success: { ...this.#success },
      fail: { ...this.#fail },
      queue: { ...this.#queue },
      computeInput: { ...this.#computeInput },
      computeInfer: { ...this.#computeInfer },
      computeOutput: { ...this.#computeOutput },
      cacheHit: NOTHING,
      cacheMiss: NOTHING,
      batches: this.#batchTotals(),
      failuresByReason: { ...this.#failuresByReason },
    };
  }

  #batchTotals(): readonly BatchTotal[] {
    return [...this.#batches]
      .map(([batchSize, totals]) => ({
        batchSize,
        computeInput: { ...totals.computeInput },
        computeInfer: { ...totals.computeInfer },
        computeOutput: { ...totals.computeOutput },
      }))
      .sort((a, b) => a.batchSize - b.batchSize);
  }
}
