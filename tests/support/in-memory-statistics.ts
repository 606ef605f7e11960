import type { FailureReason } from "../../src/base/error.ts";
import type {
  DurationTotal,
  ModelStatistics,
  ModelStatisticsSnapshot,
  SuccessRecord,
} from "../../src/core/statistics/model-statistics.ts";

const NOTHING: DurationTotal = { count: 0, ns: 0 };

/** Statistics that only count how requests ended; durations are what a test records itself. */
export class InMemoryStatistics implements ModelStatistics {
  onSuccess: ((record: SuccessRecord) => void) | undefined = undefined;
  /** Set by a test that wants to see its own numbers on the wire. */
  fixedSnapshot: ModelStatisticsSnapshot | undefined = undefined;
  #successCount = 0;
  readonly #failures: Record<FailureReason, number> = {
    REJECTED: 0,
    CANCELED: 0,
    BACKEND: 0,
    OTHER: 0,
  };

  count(outcome: "success" | FailureReason): void {
    if (outcome === "success") this.#successCount++;
    else this.#failures[outcome]++;
  }

  recordSuccess(record: SuccessRecord): void {
    this.#successCount++;
    this.onSuccess?.(record);
  }

  recordFailure(reason: FailureReason): void {
    this.#failures[reason]++;
  }

  recordExecution(): void {
    // Executions are not told apart here.
  }

  snapshot(): ModelStatisticsSnapshot {
    if (this.fixedSnapshot) return this.fixedSnapshot;
    const success = { count: this.#successCount, ns: this.#successCount * 1000 };
    const failCount = Object.values(this.#failures).reduce((sum, count) => sum + count, 0);
    return {
      lastInferenceMs: 0,
      inferenceCount: this.#successCount,
      executionCount: this.#successCount,
      success,
      fail: { count: failCount, ns: failCount * 1000 },
      queue: success,
      computeInput: success,
      computeInfer: success,
      computeOutput: success,
      cacheHit: NOTHING,
      cacheMiss: NOTHING,
      batches: [],
      failuresByReason: { ...this.#failures },
    };
  }
}
