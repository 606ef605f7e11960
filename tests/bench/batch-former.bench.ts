/**
 * What does scheduling cost? CPU µs per request from `enqueue` to the sink's end, for batches of several sizes, with an
 * instance that does nothing; and the bare decision which requests form a batch, at several queue depths.
 *
 * `bun tests/bench/batch-former.bench.ts`. Prints one JSON line a case.
 */
import type { InferenceRequest } from "../../src/core/request/inference-request.ts";
import { formBatch } from "../../src/core/scheduler/batch-former.ts";
import { printBench } from "../support/bench.ts";
import { SchedulerSetup, type TestRequest } from "../support/scheduler-setup.ts";

const ROUNDS = 7;

/** Every request of a turn in one batch, answered at once. */
function scheduleCost(batchSize: number): number {
  const setup = new SchedulerSetup({ batching: {}, maxBatchSize: batchSize });
  const batchCount = Math.ceil(20_000 / batchSize);
  const made: TestRequest[] = Array.from({ length: batchCount * batchSize }, () => setup.request());
  const requests: InferenceRequest[] = made.map(({ request }) => request);
  const [instance] = setup.pool.instances;
  const startNs = Bun.nanoseconds();
  let next = 0;
  for (let batch = 0; batch < batchCount; batch++) {
    for (let i = 0; i < batchSize; i++) {
      const request = requests[next++];
      if (request !== undefined) setup.scheduler.enqueue(request);
    }
    // The pool's only instance is free, so `onFree` sends what the turn's end would send.
    setup.pool.onFree?.();
    instance?.finish();
  }
  const elapsedNs = Bun.nanoseconds() - startNs;
  if (setup.scheduler.inflightCount !== 0) throw new Error("the bench left requests behind");
  return elapsedNs / 1000 / requests.length;
}

/** One decision with so many requests waiting. */
function decisionCost(depth: number): number {
  const rules = { maxBatchSize: 32, preferredBatchSizes: [32], maxQueueDelayNs: 500_000 };
  const pending = Array.from({ length: depth }, () => ({ batchSize: 1, mergeKey: "" }));
  const count = 20_000;
  const startNs = Bun.nanoseconds();
  let taken = 0;
  for (let i = 0; i < count; i++) {
    const decision = formBatch(rules, pending, 0, i);
    if (decision.kind === "take") taken += decision.count;
  }
  if (depth >= 32 && taken !== count * 32) throw new Error("the former took another batch");
  return (Bun.nanoseconds() - startNs) / 1000 / count;
}

for (const batchSize of [1, 8, 32]) {
  const costs = Array.from({ length: ROUNDS }, () => scheduleCost(batchSize));
  printBench(`schedule, batches of ${batchSize}`, "µs/request", costs.slice(2));
}
for (const depth of [1, 32, 10_000]) {
  const costs = Array.from({ length: ROUNDS }, () => decisionCost(depth));
  printBench(`decide, ${depth} waiting`, "µs/decision", costs.slice(2));
}
