import { expect, test } from "bun:test";
import { ModelCounters } from "../../../../src/core/statistics/model-counters.ts";
import type { SuccessRecord } from "../../../../src/core/statistics/model-statistics.ts";

const record: SuccessRecord = {
  requestNs: 100,
  queueNs: 20,
  computeInputNs: 3,
  computeInferNs: 4,
  computeOutputNs: 5,
};

test("a fresh counter shows zeros, every failure reason present", () => {
  const snapshot = new ModelCounters().snapshot();
  expect(snapshot.lastInferenceMs).toBe(0);
  expect(snapshot.success).toEqual({ count: 0, ns: 0 });
  expect(snapshot.batches).toEqual([]);
  expect(snapshot.failuresByReason).toEqual({ REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 });
});

test("successes add up per part, and an observer is told", () => {
  const counters = new ModelCounters();
  const seen: SuccessRecord[] = [];
  counters.onSuccess = (one) => seen.push(one);
  counters.recordSuccess(record);
  counters.recordSuccess(record);
  const snapshot = counters.snapshot();
  expect(snapshot.success).toEqual({ count: 2, ns: 200 });
  expect(snapshot.queue).toEqual({ count: 2, ns: 40 });
  expect(snapshot.computeInput).toEqual({ count: 2, ns: 6 });
  expect(snapshot.computeInfer).toEqual({ count: 2, ns: 8 });
  expect(snapshot.computeOutput).toEqual({ count: 2, ns: 10 });
  expect(seen.length).toBe(2);
});

test("executions count rows, and batch sizes are listed ascending", () => {
  const counters = new ModelCounters();
  const beforeMs = Date.now();
  for (const rowCount of [4, 1, 4, 2]) counters.recordExecution(rowCount, 1, 10, 100);
  const snapshot = counters.snapshot();
  expect([snapshot.executionCount, snapshot.inferenceCount]).toEqual([4, 11]);
  expect(snapshot.lastInferenceMs).toBeGreaterThanOrEqual(beforeMs);
  expect(snapshot.batches.map(({ batchSize, computeInfer }) => [batchSize, computeInfer])).toEqual([
    [1, { count: 1, ns: 10 }],
    [2, { count: 1, ns: 10 }],
    [4, { count: 2, ns: 20 }],
  ]);
});

test("failures are counted by reason, and a snapshot does not change later", () => {
  const counters = new ModelCounters();
  counters.recordFailure("CANCELED", 7);
  const snapshot = counters.snapshot();
  counters.recordFailure("CANCELED", 7);
  counters.recordFailure("BACKEND", 1);
  expect(snapshot.fail).toEqual({ count: 1, ns: 7 });
  expect(counters.snapshot().failuresByReason).toEqual({
    REJECTED: 0,
    CANCELED: 2,
    BACKEND: 1,
    OTHER: 0,
  });
});
