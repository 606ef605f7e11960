import type { FailureReason } from "../../base/error.ts";

/** A count of events and their summed time. */
export interface DurationTotal {
  readonly count: number;
  /** Nanoseconds; exact up to 2^53 (104 days). */
  readonly ns: number;
}

/** Executions of one batch size. */
export interface BatchTotal {
  readonly batchSize: number;
  readonly computeInput: DurationTotal;
  readonly computeInfer: DurationTotal;
  readonly computeOutput: DurationTotal;
}

/** What the statistics extension shows for one model version (`reference/metrics.md` §6). */
export interface ModelStatisticsSnapshot {
  /** Wall clock, ms since the epoch, of the newest execution; 0 = never. */
  readonly lastInferenceMs: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly success: DurationTotal;
  readonly fail: DurationTotal;
  readonly queue: DurationTotal;
  readonly computeInput: DurationTotal;
  readonly computeInfer: DurationTotal;
  readonly computeOutput: DurationTotal;
  readonly cacheHit: DurationTotal;
  readonly cacheMiss: DurationTotal;
  /** Ascending by batch size. */
  readonly batches: readonly BatchTotal[];
  /** Failed requests by reason; every reason is present. */
  readonly failuresByReason: Readonly<Record<FailureReason, number>>;
}

/** One successful request, for {@link ModelStatistics.recordSuccess}. All in ns. */
export interface SuccessRecord {
  readonly requestNs: number;
  readonly queueNs: number;
  readonly computeInputNs: number;
  readonly computeInferNs: number;
  readonly computeOutputNs: number;
}

/**
 * Counters of one model version. Written on the main thread with plain additions; read by the statistics
 * endpoints and by the metrics when they are scraped.
 */
export interface ModelStatistics {
  recordSuccess(record: SuccessRecord): void;
  recordFailure(reason: FailureReason, requestNs: number): void;
  /** One execution of `rowCount` rows; `inferenceCount` grows by the rows. */
  recordExecution(
    rowCount: number,
    computeInputNs: number,
    computeInferNs: number,
    computeOutputNs: number,
  ): void;
  /** Is told of each success, for summaries and histograms; undefined where nobody wants it. */
  onSuccess: ((record: SuccessRecord) => void) | undefined;
  snapshot(): ModelStatisticsSnapshot;
}
