import { describe, expect, test } from "bun:test";
import { EMPTY_RESULT } from "../../../support/fake-pool.ts";
import { SchedulerSetup, turn } from "../../../support/scheduler-setup.ts";

const MS = 1_000_000;

function int32(values: readonly number[]): Uint8Array {
  return new Uint8Array(new Int32Array(values).buffer);
}

describe("forming batches", () => {
  test("requests of one turn of the event loop run together", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    setup.enqueue(5);
    expect(setup.pool.busy).toHaveLength(0);
    await turn();
    expect(setup.pool.instances[0]?.running?.batch.rowCount).toBe(5);
  });

  test("requests wait while every instance is busy and leave when one is free again", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    setup.enqueue(1);
    await turn();
    setup.enqueue(3);
    await turn();
    expect(setup.scheduler.pendingCount).toBe(3);
    setup.pool.instances[0]?.finish();
    expect(setup.pool.instances[0]?.running?.batch.rowCount).toBe(3);
  });

  test("without a scheduler in the configuration each request runs by itself", async () => {
    const setup = new SchedulerSetup({});
    setup.enqueue(2, { batchSize: 4 });
    await turn();
    expect(setup.pool.instances[0]?.running?.batch.requests).toHaveLength(1);
  });

  test("a delay holds requests back until it is over", async () => {
    const setup = new SchedulerSetup({
      batching: { preferredBatchSize: [8], maxQueueDelayMicroseconds: 5000n },
    });
    setup.enqueue(2);
    await turn();
    expect(setup.pool.busy).toHaveLength(0);
    setup.clock.advance(5 * MS);
    expect(setup.pool.instances[0]?.running?.batch.rowCount).toBe(2);
    expect(setup.clock.timerCount).toBe(0);
  });

  test("one timer serves all batches of a delay", async () => {
    const setup = new SchedulerSetup({
      maxBatchSize: 4,
      batching: { maxQueueDelayMicroseconds: 500n, preferredBatchSize: [4] },
    });
    for (let batch = 0; batch < 20; batch++) {
      setup.enqueue(1);
      await turn();
      setup.enqueue(3);
      await turn();
      expect(setup.clock.timerCount).toBe(1);
      expect(setup.pool.busy.length).toBe(1);
      setup.clock.advance(10_000);
      setup.pool.busy[0]?.finish();
    }
    setup.enqueue(1);
    await turn();
    setup.clock.advance(500_000);
    expect(setup.pool.busy.length).toBe(1);
  });

  test("a work-conserving model does not wait for the delay", async () => {
    const setup = new SchedulerSetup({
      batching: { preferredBatchSize: [8], maxQueueDelayMicroseconds: 5000n },
      parameters: { work_conserving: "true" },
    });
    setup.enqueue(2);
    await turn();
    expect(setup.pool.busy).toHaveLength(1);
  });

  test("urgent levels run first, and unknown levels count as the default one", async () => {
    const setup = new SchedulerSetup({
      maxBatchSize: 1,
      batching: { preferredBatchSize: [1], priorityLevels: 2n, defaultPriorityLevel: 2n },
    });
    setup.enqueue(1, { id: "running" });
    await turn();
    setup.enqueue(1, { id: "low", priority: 7 });
    setup.enqueue(1, { id: "high", priority: 1 });
    setup.pool.instances[0]?.finish();
    expect(setup.pool.instances[0]?.running?.batch.requests[0]?.id).toBe("high");
  });
});

describe("batches ahead for busy instances", () => {
  /** Has run one short batch, so that the scheduler knows how long they take. */
  async function warm(
    fields: ConstructorParameters<typeof SchedulerSetup>[0],
  ): Promise<SchedulerSetup> {
    const setup = new SchedulerSetup({ capacity: 3, ...fields });
    setup.enqueue(1);
    await turn();
    setup.clock.advance(MS);
    setup.pool.busy[0]?.finish({ ...EMPTY_RESULT, computeInferNs: 20_000 });
    return setup;
  }

  const counts = (setup: SchedulerSetup) => setup.pool.instances.map(({ runs }) => runs.length);

  test("an instance gets single requests up to its capacity, idle instances first", async () => {
    const setup = await warm({ instanceCount: 2 });
    setup.enqueue(3);
    await turn();
    expect(counts(setup).toSorted()).toEqual([1, 2]);
    setup.enqueue(5);
    await turn();
    expect([counts(setup), setup.scheduler.pendingCount]).toEqual([[3, 3], 2]);
  });

  test("nothing goes ahead before a batch has run, nor where batches take long", async () => {
    const cold = new SchedulerSetup({ capacity: 3 });
    cold.enqueue(3);
    await turn();
    expect(counts(cold)).toEqual([1]);
    cold.pool.busy[0]?.finish({ ...EMPTY_RESULT, computeInferNs: 5 * MS });
    await turn();
    expect(counts(cold)).toEqual([1]);
  });

  test("a batch that could still grow waits for an idle instance, a full one does not", async () => {
    const setup = await warm({ maxBatchSize: 4, batching: { preferredBatchSize: [4] } });
    setup.enqueue(1);
    await turn();
    setup.enqueue(3);
    await turn();
    expect(counts(setup)).toEqual([1]);
    setup.enqueue(2);
    await turn();
    expect([counts(setup), setup.scheduler.pendingCount]).toEqual([[2], 1]);
  });

  test.each([
    ["a queue limit", { defaultQueuePolicy: { maxQueueSize: 100 } }],
    ["a timeout", { defaultQueuePolicy: { defaultTimeoutMicroseconds: 1_000_000n } }],
    ["priority levels", { priorityLevels: 2n, defaultPriorityLevel: 1n }],
    ["preserved order", { preserveOrdering: true }],
  ])("nothing goes ahead with %s", async (_, batching) => {
    const setup = await warm({ maxBatchSize: 1, batching });
    setup.enqueue(3);
    await turn();
    expect(counts(setup)).toEqual([1]);
  });

  test("the batch of a cancelled request is told to its instance, wherever it is", async () => {
    const setup = await warm({});
    const requests = setup.enqueue(3);
    await turn();
    const [instance] = setup.pool.instances;
    const second = instance?.runs[1]?.batch;
    requests[1]?.request.cancel();
    expect(instance?.cancelled).toEqual(second === undefined ? [] : [second]);
    for (let i = 0; i < 3; i++) instance?.finish();
    expect(requests.map(({ sink }) => sink.endCount)).toEqual([1, 1, 1]);
  });
});

describe("queue policy", () => {
  const one = { preferredBatchSize: [1], defaultQueuePolicy: { maxQueueSize: 1 } };

  test("a full queue refuses at once, and requests that an instance can take do not count", async () => {
    const setup = new SchedulerSetup({ maxBatchSize: 1, batching: one });
    setup.enqueue(2);
    const third = setup.request({ id: "third" });
    expect(() => setup.scheduler.enqueue(third.request)).toThrow(
      "[request id: third] Exceeds maximum queue size",
    );
    expect(third.sink.endCount).toBe(0);
    expect(setup.statistics.snapshot().failuresByReason.REJECTED).toBe(1);
    expect(setup.scheduler.inflightCount).toBe(2);
  });

  test("an expired request is rejected by the timer, whatever the instances do", async () => {
    const setup = new SchedulerSetup({
      maxBatchSize: 1,
      batching: {
        preferredBatchSize: [1],
        defaultQueuePolicy: { defaultTimeoutMicroseconds: 1000n },
      },
    });
    setup.enqueue(1);
    await turn();
    const [late] = setup.enqueue(1);
    setup.clock.advance(1 * MS);
    expect(late?.sink.errors[0]?.message).toBe("Request timeout expired");
    expect(setup.statistics.snapshot().failuresByReason.REJECTED).toBe(1);
  });

  test("a request's timeout shortens the default only where overriding is allowed", async () => {
    for (const allowTimeoutOverride of [true, false]) {
      const setup = new SchedulerSetup({
        maxBatchSize: 1,
        batching: {
          preferredBatchSize: [1],
          defaultQueuePolicy: { defaultTimeoutMicroseconds: 9000n, allowTimeoutOverride },
        },
      });
      setup.enqueue(1);
      await turn();
      const [late] = setup.enqueue(1, { timeoutMicroseconds: 1000 });
      setup.clock.advance(1 * MS);
      expect(late?.sink.errors).toHaveLength(allowTimeoutOverride ? 1 : 0);
    }
  });

  test("with DELAY an expired request waits behind the others", async () => {
    const setup = new SchedulerSetup({
      maxBatchSize: 1,
      batching: {
        preferredBatchSize: [1],
        defaultQueuePolicy: { defaultTimeoutMicroseconds: 1000n, timeoutAction: 1 },
      },
    });
    setup.enqueue(1);
    await turn();
    setup.enqueue(1, { id: "late" });
    setup.clock.advance(2 * MS);
    setup.enqueue(1, { id: "fresh" });
    setup.pool.instances[0]?.finish();
    expect(setup.pool.instances[0]?.running?.batch.requests[0]?.id).toBe("fresh");
    setup.pool.instances[0]?.finish();
    expect(setup.pool.instances[0]?.running?.batch.requests[0]?.id).toBe("late");
  });
});

describe("answers", () => {
  test("joined outputs are split by the rows of each request", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    const [a] = setup.enqueue(1, { batchSize: 1 });
    const [b] = setup.enqueue(1, { batchSize: 2 });
    await turn();
    const bytes = int32([1, 2, 3, 4, 5, 6]);
    setup.pool.instances[0]?.finish({
      ...EMPTY_RESULT,
      outputs: [{ index: 0, datatype: "INT32", shape: [3, 2], bytes }],
    });
    expect(a?.sink.responses[0]?.outputs[0]).toEqual({
      name: "OUTPUT0",
      datatype: "INT32",
      shape: [1, 2],
      bytes: int32([1, 2]),
    });
    expect(b?.sink.responses[0]?.outputs[0]?.bytes).toEqual(int32([3, 4, 5, 6]));
  });

  test("BYTES outputs are split by their elements", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    const requests = setup.enqueue(2);
    await turn();
    const bytes = new Uint8Array([1, 0, 0, 0, 65, 0, 0, 0, 0]);
    setup.pool.instances[0]?.finish({
      ...EMPTY_RESULT,
      outputs: [{ index: 0, datatype: "BYTES", shape: [2, 1], bytes }],
    });
    expect(requests[0]?.sink.responses[0]?.outputs[0]?.bytes).toEqual(bytes.subarray(0, 5));
    expect(requests[1]?.sink.responses[0]?.outputs[0]?.bytes).toEqual(bytes.subarray(5));
  });

  test("a failure of one request leaves the others of its batch alone", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    const requests = setup.enqueue(2);
    await turn();
    const { InferenceError } = await import("../../../../src/base/error.ts");
    setup.pool.instances[0]?.finish({
      ...EMPTY_RESULT,
      requestErrors: new Map([[0, new InferenceError("INVALID_ARG", "odd")]]),
    });
    expect(requests[0]?.sink.errors[0]?.message).toBe("odd");
    expect(requests[1]?.sink.responses).toHaveLength(1);
    expect(setup.statistics.snapshot().executionCount).toBe(1);
  });

  test("an output without the batch's rows is an error that names both", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    const [first] = setup.enqueue(2);
    await turn();
    setup.pool.instances[0]?.finish({
      ...EMPTY_RESULT,
      outputs: [{ index: 0, datatype: "INT32", shape: [3, 1], bytes: int32([1, 2, 3]) }],
    });
    expect(first?.sink.errors[0]?.message).toContain("the batch has 2 rows");
    expect(first?.sink.errors[0]?.message).toContain("[3,1]");
  });

  test("the next batch starts before the answers of the last are given", async () => {
    const setup = new SchedulerSetup({ maxBatchSize: 1, batching: { preferredBatchSize: [1] } });
    const [first] = setup.enqueue(2);
    await turn();
    let wasBusy = false;
    if (first !== undefined) {
      const { sink } = first;
      const original = sink.onResponse.bind(sink);
      sink.onResponse = (response, isFinal) => {
        wasBusy = setup.pool.busy.length === 1;
        original(response, isFinal);
      };
    }
    setup.pool.instances[0]?.finish();
    expect(wasBusy).toBe(true);
  });

  test("with preserve_ordering responses leave in the order of the requests", async () => {
    const setup = new SchedulerSetup({
      maxBatchSize: 1,
      instanceCount: 2,
      batching: { preferredBatchSize: [1], preserveOrdering: true },
    });
    const [first, second] = setup.enqueue(2);
    await turn();
    setup.pool.instances[1]?.finish();
    expect(second?.sink.endCount).toBe(0);
    setup.pool.instances[0]?.finish();
    expect([first?.sink.endCount, second?.sink.endCount]).toEqual([1, 1]);
  });
});

describe("cancellation and stopping", () => {
  test("a cancelled request leaves the queue at once", async () => {
    const setup = new SchedulerSetup({ maxBatchSize: 1, batching: { preferredBatchSize: [1] } });
    setup.enqueue(1);
    await turn();
    const [gone, next] = setup.enqueue(2);
    gone?.request.cancel();
    expect(gone?.sink.errors[0]?.code).toBe("CANCELLED");
    setup.pool.instances[0]?.finish();
    expect(setup.pool.instances[0]?.running?.batch.requests[0]).toBe(next?.request);
    expect(setup.statistics.snapshot().failuresByReason.CANCELED).toBe(1);
  });

  test("a running batch is stopped when nobody wants it any more, not before", async () => {
    const setup = new SchedulerSetup({ batching: { preferredBatchSize: [8] } });
    const [a, b] = setup.enqueue(2);
    await turn();
    a?.request.cancel();
    expect(setup.pool.instances[0]?.cancelled).toHaveLength(0);
    b?.request.cancel();
    expect(setup.pool.instances[0]?.cancelled).toHaveLength(1);
    setup.pool.instances[0]?.finish();
    expect(a?.sink.errors[0]?.code).toBe("CANCELLED");
    expect(setup.scheduler.inflightCount).toBe(0);
  });

  test("a stopped scheduler refuses new requests and ends the accepted ones", async () => {
    const setup = new SchedulerSetup({
      maxBatchSize: 8,
      batching: { preferredBatchSize: [8], maxQueueDelayMicroseconds: 1_000_000n },
    });
    const [accepted] = setup.enqueue(1);
    const stopped = setup.scheduler.stop();
    expect(() => setup.enqueue(1)).toThrow("has stopped accepting new inference requests");
    setup.pool.instances[0]?.finish();
    await stopped;
    expect(accepted?.sink.endCount).toBe(1);
    expect(setup.clock.timerCount).toBe(0);
  });

  test("when no instance can come back, waiting requests are told why", async () => {
    const setup = new SchedulerSetup({ maxBatchSize: 1, batching: { preferredBatchSize: [1] } });
    setup.enqueue(1);
    await turn();
    const [waiting] = setup.enqueue(1);
    const { InferenceError } = await import("../../../../src/base/error.ts");
    setup.pool.onDown?.(new InferenceError("UNAVAILABLE", "all instances are down"));
    expect(waiting?.sink.errors[0]?.message).toBe("all instances are down");
  });
});
