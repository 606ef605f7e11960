import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { refusalOf } from "../../../support/config-texts.ts";
import { EMPTY_RESULT } from "../../../support/fake-pool.ts";
import { turn } from "../../../support/scheduler-setup.ts";
import { CONTROLS, SequenceSetup } from "../../../support/sequence-setup.ts";

const MS = 1_000_000;
const OLDEST = "oldest { max_candidate_sequences: 2 }";

describe("what a request of a sequence must have", () => {
  test("an id", async () => {
    const setup = await SequenceSetup.create();
    for (const id of [0n, ""]) {
      expect(refusalOf(() => setup.send(id, { start: true }))).toBe(
        "inference request to model 'm' must specify a non-zero or non-empty correlation ID",
      );
    }
    expect(setup.scheduler.inflightCount).toBe(0);
  });

  test("a START before anything else", async () => {
    const setup = await SequenceSetup.create();
    expect(refusalOf(() => setup.send(7n))).toBe(
      "inference request for sequence 7 to model 'm' must specify the START flag on the first request of the sequence",
    );
  });

  test("one row", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4 });
    expect(refusalOf(() => setup.send(7n, { start: true, batchSize: 2 }))).toBe(
      "inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher",
    );
  });

  test("an id of the type of the control tensor, where there is one", async () => {
    const numbers = await SequenceSetup.create({ batching: CONTROLS });
    expect(refusalOf(() => numbers.send("7", { start: true }))).toBe(
      "[request id: <id_unknown>] sequence batching control 'CORRID' data-type is 'BYTES', but model 'm' expects 'UINT64'",
    );
    const texts = await SequenceSetup.create({
      batching: CONTROLS.replace("TYPE_UINT64", "TYPE_STRING"),
    });
    expect(refusalOf(() => texts.send(7n, { start: true, requestId: "r" }))).toBe(
      "[request id: r] sequence batching control 'CORRID' data-type is 'UINT64', but model 'm' expects 'BYTES'",
    );
    texts.send("seven", { start: true });
  });
});

describe("a sequence", () => {
  test("runs its requests in order, one at a time", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4 });
    const sent = [setup.send(1n, { start: true }), setup.send(1n), setup.send(1n, { end: true })];
    await turn();
    for (const one of sent) {
      expect(setup.batch()?.requests).toEqual([one.request]);
      setup.finish();
      expect(one.sink.endCount).toBe(1);
    }
    expect(setup.scheduler.inflightCount).toBe(0);
    expect(setup.scheduler.pendingCount).toBe(0);
  });

  test("stays on its instance, and instances fill evenly", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2, instanceCount: 2 });
    for (const id of [1n, 2n, 3n]) setup.send(id, { start: true });
    await turn();
    expect([setup.ids(0), setup.ids(1)]).toEqual([[1n, 3n], [2n]]);
    setup.finish(0);
    setup.finish(1);
    setup.send(2n);
    await turn();
    expect([setup.ids(0), setup.ids(1)]).toEqual([undefined, [2n]]);
  });

  test("gives up its id with the END that it got, not with the one that ran", async () => {
    const setup = await SequenceSetup.create();
    setup.send(1n, { start: true, end: true });
    const second = setup.send(1n, { start: true });
    expect(setup.logger.messages("warning")).toEqual([]);
    await turn();
    setup.finish();
    expect(setup.batch()?.requests).toEqual([second.request]);
  });

  test("comes after the one of the same id, however it ends, and after those that wait longer", async () => {
    const setup = await SequenceSetup.create({ instanceCount: 1 });
    const first = [setup.send(1n, { start: true }), setup.send(1n, { end: true })];
    const second = setup.send(1n, { start: true, end: true });
    let third = setup.send(1n, { start: true });
    const other = setup.send(2n, { start: true, end: true });
    expect(setup.logger.messages("warning")).toEqual([]);
    await turn();
    second.request.cancel();
    expect(second.sink.endCount).toBe(1);
    third.request.cancel();
    third = setup.send(1n, { start: true });
    for (const one of [...first, other, third]) {
      expect(setup.batch()?.requests).toEqual([one.request]);
      setup.finish();
    }
    setup.send(1n, { end: true });
    expect(refusalOf(() => setup.send(1n))).toContain("must specify the START flag");
  });

  test("starts anew where it is, after what it had queued", async () => {
    const setup = await SequenceSetup.create();
    const old = [setup.send(1n, { start: true }), setup.send(1n)];
    const anew = setup.send(1n, { start: true });
    expect(setup.logger.messages("warning")).toHaveLength(1);
    await turn();
    for (const one of [...old, anew]) {
      expect(setup.batch()?.requests).toEqual([one.request]);
      setup.finish();
    }
  });

  test("is one thing by a number and another by a text", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2 });
    setup.send(5n, { start: true });
    setup.send("5", { start: true });
    await turn();
    expect(setup.ids()).toEqual([5n, "5"]);
  });

  test("goes on after a failed request", async () => {
    const setup = await SequenceSetup.create();
    const first = setup.send(1n, { start: true });
    await turn();
    const error = new InferenceError("INTERNAL", "no", { reason: "BACKEND" });
    setup.pool.instances[0]?.finish({ ...EMPTY_RESULT, error });
    expect(first.sink.errors.map(({ message }) => message)).toEqual(["no"]);
    setup.send(1n, { end: true });
    await turn();
    expect(setup.ids()).toEqual([1n]);
  });
});

describe("an idle sequence", () => {
  test("is forgotten, and its slot is free once", async () => {
    const setup = await SequenceSetup.create();
    setup.send(1n, { start: true });
    await turn();
    setup.finish();
    const next = setup.send(2n, { start: true });
    const last = setup.send(3n, { start: true });
    await turn();
    expect(setup.batch()).toBeUndefined();
    setup.clock.advance(1000 * MS);
    await turn();
    expect(setup.batch()?.requests).toEqual([next.request]);
    expect(refusalOf(() => setup.send(1n))).toContain("must specify the START flag");
    setup.finish();
    await turn();
    expect(last.sink.endCount).toBe(0);
    expect(setup.batch()).toBeUndefined();
  });

  test("lives on as long as requests come, and as long as one runs", async () => {
    const setup = await SequenceSetup.create();
    setup.send(1n, { start: true });
    await turn();
    setup.clock.advance(5000 * MS);
    setup.finish();
    for (let i = 0; i < 4; i++) {
      setup.clock.advance(600 * MS);
      setup.send(1n);
      await turn();
      setup.finish();
    }
    setup.clock.advance(999 * MS);
    setup.send(1n, { end: true });
    await turn();
    setup.finish();
    setup.clock.advance(2000 * MS);
    expect(setup.clock.timerCount).toBe(0);
  });
});

describe("the backlog", () => {
  test("hands slots out in the order of the STARTs", async () => {
    const setup = await SequenceSetup.create();
    setup.send(1n, { start: true });
    await turn();
    setup.finish();
    const waiting = [2n, 3n, 4n].flatMap((id) => [
      setup.send(id, { start: true }),
      setup.send(id, { end: true }),
    ]);
    setup.send(1n, { end: true });
    await turn();
    setup.finish();
    for (const one of waiting) {
      expect(setup.batch()?.requests).toEqual([one.request]);
      setup.finish();
    }
  });

  test("rejects a whole sequence when one of its requests has waited too long", async () => {
    const setup = await SequenceSetup.create();
    setup.send(1n, { start: true });
    await turn();
    const waiting = [
      setup.send(2n, { start: true }),
      setup.send(2n, { timeoutMicroseconds: 3000 }),
      setup.send(2n),
    ];
    const patient = setup.send(3n, { start: true, timeoutMicroseconds: 9000 });
    setup.clock.advance(3 * MS);
    for (const { sink } of waiting) {
      expect(sink.errors[0]).toMatchObject({
        code: "UNAVAILABLE",
        reason: "REJECTED",
        message: "timeout of the corresponding sequence has been expired",
      });
      expect(sink.endCount).toBe(1);
    }
    expect(refusalOf(() => setup.send(2n))).toContain("must specify the START flag");
    setup.send(1n, { end: true });
    setup.finish();
    setup.finish();
    setup.clock.advance(20 * MS);
    expect(setup.batch()?.requests).toEqual([patient.request]);
  });
});

describe("direct", () => {
  const PADDED = `direct { max_queue_delay_microseconds: 5000 minimum_slot_utilization: 1 } ${CONTROLS}`;

  test("batches the slots, and pads those below the last that have nothing", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4, batching: CONTROLS });
    for (const id of [1n, 2n, 3n]) setup.send(id, { start: true });
    await turn();
    expect(setup.ids()).toEqual([1n, 2n, 3n]);
    setup.finish();
    const ends = [setup.send(1n, { end: true }), setup.send(3n, { end: true })];
    await turn();
    expect(setup.ids()).toEqual([1n, 0n, 3n]);
    expect(setup.batch()?.rowCount).toBe(3);
    const padding = setup.batch()?.requests[1];
    expect([padding?.isEnded, padding?.sequenceFlags]).toEqual([true, 0]);
    expect(setup.extra(0)).toEqual([
      [0, 0, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
    expect(setup.extra(1)).toEqual([
      [0, 0, 0x80, 0x3f],
      [0, 0, 0, 0],
      [0, 0, 0x80, 0x3f],
    ]);
    expect(setup.extra(2)).toEqual([[1], [0], [1]]);
    expect(setup.extra(3)?.map(([low]) => low)).toEqual([1, 0, 3]);
    setup.finish();
    expect(ends.map(({ sink }) => sink.endCount)).toEqual([1, 1]);
    expect(setup.statistics.snapshot().success.count).toBe(5);
  });

  test("waits for enough slots, but no longer than the delay", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2, batching: PADDED });
    setup.send(1n, { start: true });
    await turn();
    expect(setup.batch()).toBeUndefined();
    setup.send(2n, { start: true });
    await turn();
    expect(setup.ids()).toEqual([1n, 2n]);
    setup.finish();
    setup.send(2n);
    await turn();
    setup.clock.advance(4 * MS);
    expect(setup.batch()).toBeUndefined();
    setup.clock.advance(1 * MS);
    expect(setup.ids()).toEqual([0n, 2n]);
  });

  test("lets a request of another shape wait for the next batch", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4 });
    setup.send(1n, { start: true, mergeKey: "a" });
    setup.send(2n, { start: true, mergeKey: "b" });
    setup.send(3n, { start: true, mergeKey: "a" });
    await turn();
    expect(setup.ids()).toEqual([1n, 0n, 3n]);
    setup.finish();
    expect(setup.ids()).toEqual([0n, 2n]);
  });
});

describe("oldest", () => {
  test("batches the requests of different sequences, the longest ready first", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4, batching: OLDEST });
    for (let i = 0; i < 3; i++) {
      for (const id of [1n, 2n]) setup.send(id, { start: i === 0, end: i === 2 });
    }
    await turn();
    for (let i = 0; i < 3; i++) {
      expect(setup.ids()).toEqual([1n, 2n]);
      setup.finish();
    }
    expect(setup.batch()).toBeUndefined();
  });

  test("takes no more sequences than candidates", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4, batching: OLDEST });
    for (const id of [1n, 2n, 3n]) setup.send(id, { start: true });
    await turn();
    expect(setup.ids()).toEqual([1n, 2n]);
    setup.finish();
    expect(setup.batch()).toBeUndefined();
    setup.send(2n, { end: true });
    await turn();
    setup.finish();
    expect(setup.ids()).toEqual([3n]);
  });

  test("waits for a preferred size, but no longer than the delay", async () => {
    const setup = await SequenceSetup.create({
      maxBatchSize: 4,
      batching:
        "oldest { max_candidate_sequences: 4 preferred_batch_size: 3 max_queue_delay_microseconds: 2000 }",
    });
    setup.send(1n, { start: true });
    setup.send(2n, { start: true });
    await turn();
    setup.clock.advance(1 * MS);
    expect(setup.batch()).toBeUndefined();
    setup.clock.advance(1 * MS);
    expect(setup.ids()).toEqual([1n, 2n]);
  });
});

describe("a cancelled request", () => {
  test("takes the waiting requests of its sequence with it and frees the slot", async () => {
    const setup = await SequenceSetup.create();
    const running = setup.send(1n, { start: true });
    const waiting = [setup.send(1n), setup.send(1n)];
    const other = setup.send(2n, { start: true });
    await turn();
    waiting[0]?.request.cancel();
    expect(waiting.map(({ sink }) => sink.errors[0]?.code)).toEqual(["CANCELLED", "CANCELLED"]);
    expect(running.sink.endCount).toBe(0);
    expect(refusalOf(() => setup.send(1n))).toContain("must specify the START flag");
    setup.finish();
    expect(running.sink.endCount).toBe(1);
    expect(setup.batch()?.requests).toEqual([other.request]);
    expect(setup.statistics.snapshot().fail.count).toBe(2);
  });

  test("stops the instance when nobody else waits for the batch", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2 });
    const [a, b] = [setup.send(1n, { start: true }), setup.send(2n, { start: true })];
    await turn();
    a.request.cancel();
    expect(setup.pool.instances[0]?.cancelled).toHaveLength(0);
    b.request.cancel();
    expect(setup.pool.instances[0]?.cancelled).toHaveLength(1);
    setup.finish();
    expect([a, b].map(({ sink }) => sink.errors[0]?.code)).toEqual(["CANCELLED", "CANCELLED"]);
    expect([a, b].map(({ sink }) => sink.endCount)).toEqual([1, 1]);
  });

  test("in the backlog leaves it", async () => {
    const setup = await SequenceSetup.create();
    setup.send(1n, { start: true });
    const waiting = setup.send(2n, { start: true, timeoutMicroseconds: 1000 });
    const next = setup.send(3n, { start: true });
    await turn();
    waiting.request.cancel();
    expect(waiting.sink.errors[0]?.code).toBe("CANCELLED");
    setup.clock.advance(5 * MS);
    setup.send(1n, { end: true });
    setup.finish();
    setup.finish();
    expect(setup.batch()?.requests).toEqual([next.request]);
    expect(waiting.sink.endCount).toBe(1);
  });
});

describe("a lost instance", () => {
  const lost = new InferenceError("INTERNAL", "instance stopped", { reason: "BACKEND" });

  test("ends its sequences; those in the backlog go elsewhere", async () => {
    const setup = await SequenceSetup.create({ instanceCount: 2 });
    const sent = [1n, 2n, 3n].map((id) => setup.send(id, { start: true }));
    await turn();
    const queued = setup.send(1n);
    const [first] = setup.pool.instances;
    if (first !== undefined) setup.pool.crash(first, lost);
    expect([sent[0], queued].map((one) => one?.sink.errors[0]?.message)).toEqual([
      "instance stopped",
      "instance stopped",
    ]);
    expect(refusalOf(() => setup.send(1n))).toContain("must specify the START flag");
    setup.send(2n, { end: true });
    setup.finish(1);
    setup.finish(1);
    expect(setup.ids(1)).toEqual([3n]);
    setup.send(4n, { start: true });
    await turn();
    if (first !== undefined) setup.pool.restart(first);
    await turn();
    expect(setup.ids(0)).toEqual([4n]);
  });

  test("fails all that waits when none comes back", async () => {
    const setup = await SequenceSetup.create();
    const [first] = setup.pool.instances;
    if (first !== undefined) setup.pool.crash(first, lost);
    const waiting = setup.send(1n, { start: true });
    await turn();
    setup.pool.onDown?.(new InferenceError("UNAVAILABLE", "is down"));
    expect(waiting.sink.errors[0]?.message).toBe("is down");
  });
});

describe("an iterative sequence", () => {
  const ITERATIVE = `iterative_sequence: true ${CONTROLS}`;

  test("gets an id and a START, and runs until its model lets go", async () => {
    const setup = await SequenceSetup.create({ batching: ITERATIVE });
    const sent = setup.send(0n);
    await turn();
    expect(setup.ids()).toEqual([1n]);
    expect(setup.extra(0)).toEqual([[1, 0, 0, 0]]);
    setup.finishAgain([sent.request]);
    await turn();
    expect(setup.batch()?.requests).toEqual([sent.request]);
    expect(setup.extra(0)).toEqual([[0, 0, 0, 0]]);
    const next = setup.send(0n);
    setup.finishAgain([sent.request]);
    await turn();
    expect(setup.batch()?.requests).toEqual([sent.request]);
    setup.finishAgain([]);
    expect(sent.sink.endCount).toBe(1);
    await turn();
    expect(setup.batch()?.requests).toEqual([next.request]);
    setup.finishAgain([]);
    expect(setup.scheduler.inflightCount).toBe(0);
    expect(setup.clock.timerCount).toBe(0);
  });

  test("keeps the id of the client, and shares batches with others", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2, batching: ITERATIVE });
    const [a] = [setup.send(9n), setup.send(9n)];
    await turn();
    expect(setup.ids()).toEqual([9n, 9n]);
    setup.finishAgain([a.request]);
    await turn();
    expect(setup.ids()).toEqual([9n]);
  });

  test("ends when it is cancelled between two runs, or while it runs", async () => {
    const setup = await SequenceSetup.create({
      maxBatchSize: 2,
      batching: `direct { max_queue_delay_microseconds: 9000 minimum_slot_utilization: 1 } ${ITERATIVE}`,
    });
    const [a, b] = [setup.send(0n), setup.send(0n)];
    await turn();
    a.request.cancel();
    setup.finishAgain([a.request, b.request]);
    b.request.cancel();
    expect([a, b].map(({ sink }) => [sink.errors[0]?.code, sink.endCount])).toEqual([
      ["CANCELLED", 1],
      ["CANCELLED", 1],
    ]);
    await turn();
    expect(setup.batch()).toBeUndefined();
    expect(setup.scheduler.inflightCount).toBe(0);
  });

  test("cannot be had where the configuration does not say so", async () => {
    const setup = await SequenceSetup.create();
    const sent = setup.send(1n, { start: true });
    await turn();
    setup.finishAgain([sent.request]);
    expect(sent.sink.errors[0]?.message).toContain("TRITONSERVER_REQUEST_RELEASE_RESCHEDULE");
  });
});

describe("stopping", () => {
  test("lets sequences that have begun go on to their end, or until they are idle too long", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2 });
    setup.send(1n, { start: true });
    setup.send(2n, { start: true });
    await turn();
    let isFinished = false;
    setup.scheduler.finishSequences?.().then(() => {
      isFinished = true;
    });
    setup.finish();
    expect(() => setup.send(3n, { start: true })).toThrow("Server is stopping");
    expect(() => setup.send(1n, { start: true })).toThrow("Server is stopping");
    const last = setup.send(1n, { end: true });
    await turn();
    setup.finish();
    await turn();
    expect([last.sink.responses.length, isFinished]).toEqual([1, false]);
    setup.clock.advance(1000 * MS);
    await turn();
    expect(isFinished).toBe(true);
  });

  test("refuses new sequences, lets running ones finish, and leaves no timer", async () => {
    const setup = await SequenceSetup.create({
      maxBatchSize: 2,
      batching: "direct { max_queue_delay_microseconds: 9000000 minimum_slot_utilization: 1 }",
    });
    setup.send(1n, { start: true });
    await turn();
    let isStopped = false;
    const stopped = setup.scheduler.stop().then(() => {
      isStopped = true;
    });
    expect(() => setup.send(2n, { start: true })).toThrow("Server is stopping");
    setup.send(1n);
    setup.finish();
    await turn();
    expect(isStopped).toBe(false);
    setup.finish();
    await stopped;
    expect(() => setup.send(1n)).toThrow("Server is stopping");
    expect(setup.clock.timerCount).toBe(0);
  });
});
