import { expect, test } from "bun:test";
import { Random } from "../../../robustness/random.ts";
import { EMPTY_RESULT } from "../../../support/fake-pool.ts";
import { SchedulerSetup, type TestRequest, turn } from "../../../support/scheduler-setup.ts";

const REQUEST_COUNT = 4000;
const MAX_BATCH_SIZE = 8;

test("random arrivals, cancellations and failures: every accepted request ends exactly once", async () => {
  const seed = Number(process.env["SCHEDULER_SEED"] ?? Date.now() % 1_000_000);
  const random = new Random(seed);
  const setup = new SchedulerSetup({
    maxBatchSize: MAX_BATCH_SIZE,
    instanceCount: 3,
    batching: {
      preferredBatchSize: [4, 8],
      maxQueueDelayMicroseconds: 500n,
      priorityLevels: 3n,
      defaultPriorityLevel: 2n,
      defaultQueuePolicy: {
        maxQueueSize: 6,
        defaultTimeoutMicroseconds: 20_000n,
        allowTimeoutOverride: true,
      },
    },
  });
  const accepted: TestRequest[] = [];
  let refusedCount = 0;
  for (let i = 0; i < REQUEST_COUNT; i++) {
    const made = setup.request({
      batchSize: random.below(MAX_BATCH_SIZE) + 1,
      mergeKey: random.pick(["", "", "", "other"]),
      priority: random.below(5),
      timeoutMicroseconds: random.chance(0.2) ? random.below(5000) : 0,
    });
    try {
      setup.scheduler.enqueue(made.request);
      accepted.push(made);
    } catch {
      refusedCount++;
    }
    if (random.chance(0.1)) random.pick(accepted).request.cancel();
    if (random.chance(0.5)) setup.clock.advance(random.below(300_000));
    if (random.chance(0.4)) await turn();
    for (const instance of setup.pool.busy) {
      expect(instance.running?.batch.rowCount).toBeLessThanOrEqual(MAX_BATCH_SIZE);
      const keys = new Set(instance.running?.batch.requests.map((r) => r.validated?.mergeKey));
      expect(keys.size).toBe(1);
      if (random.chance(0.3)) instance.finish(EMPTY_RESULT);
    }
  }
  const stopped = setup.scheduler.stop();
  for (let i = 0; i < REQUEST_COUNT && setup.scheduler.inflightCount > 0; i++) {
    for (const instance of setup.pool.busy) instance.finish(EMPTY_RESULT);
    setup.clock.advance(1_000_000);
  }
  await stopped;
  const wrong = accepted.filter(({ sink }) => sink.endCount !== 1);
  expect({ seed, wrong: wrong.length }).toEqual({ seed, wrong: 0 });
  const { success, fail } = setup.statistics.snapshot();
  expect({ seed, total: success.count + fail.count }).toEqual({ seed, total: REQUEST_COUNT });
  expect(setup.scheduler.pendingCount).toBe(0);
  expect(refusedCount).toBeGreaterThan(0);
});

test("random instances and batch sizes: with preserve_ordering responses leave as requests came", async () => {
  const seed = Number(process.env["SCHEDULER_SEED"] ?? Date.now() % 1_000_000);
  const random = new Random(seed);
  const setup = new SchedulerSetup({
    maxBatchSize: MAX_BATCH_SIZE,
    instanceCount: 3,
    batching: { maxQueueDelayMicroseconds: 100n, preserveOrdering: true },
  });
  const order: number[] = [];
  for (let i = 0; i < REQUEST_COUNT; i++) {
    const { request, sink } = setup.request({
      batchSize: random.below(MAX_BATCH_SIZE) + 1,
      mergeKey: random.pick(["", "", "other"]),
    });
    sink.onResponse = () => void order.push(i);
    setup.scheduler.enqueue(request);
    if (random.chance(0.05)) request.cancel();
    if (random.chance(0.3)) setup.clock.advance(random.below(200_000));
    if (random.chance(0.5)) await turn();
    for (const instance of setup.pool.busy) if (random.chance(0.3)) instance.finish(EMPTY_RESULT);
  }
  const stopped = setup.scheduler.stop();
  for (let i = 0; i < REQUEST_COUNT && setup.scheduler.inflightCount > 0; i++) {
    for (const instance of setup.pool.busy) if (random.chance(0.5)) instance.finish(EMPTY_RESULT);
  }
  await stopped;
  expect({ seed, order }).toEqual({ seed, order: order.toSorted((a, b) => a - b) });
  expect(order.length).toBeGreaterThan(REQUEST_COUNT / 2);
});
