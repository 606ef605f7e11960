import { expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import type { Batch } from "../../../../src/core/request/batch.ts";
import type { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import { SEQUENCE_START } from "../../../../src/core/request/request-signature.ts";
import { Random } from "../../../robustness/random.ts";
import { turn } from "../../../support/scheduler-setup.ts";
import { CONTROLS, type SentStep, SequenceSetup } from "../../../support/sequence-setup.ts";

/** Few by default; a long run proves more. */
const STEP_COUNT = Number(process.env["SCHEDULER_STEP_COUNT"] ?? 3000);
const TIMEOUT_MS = 5000 + STEP_COUNT;
const ID_COUNT = 12;
const MAX_BATCH_SIZE = 4;
const LOST = new InferenceError("INTERNAL", "instance stopped", { reason: "BACKEND" });

/** Checks what must hold of every batch, in the order in which batches start. */
class BatchChecks {
  readonly #order = new Map<InferenceRequest, number>();
  readonly #lastOfId = new Map<bigint | string, number>();
  readonly #instanceOfId = new Map<bigint | string, number>();

  sent({ request }: SentStep): void {
    this.#order.set(request, this.#order.size);
  }

  started(batch: Batch, instance: number): void {
    expect(batch.rowCount).toBeLessThanOrEqual(MAX_BATCH_SIZE);
    const ids = new Set<bigint | string>();
    for (const request of batch.requests) {
      const order = this.#order.get(request);
      if (order === undefined) continue;
      expect(ids.has(request.sequenceId)).toBe(false);
      ids.add(request.sequenceId);
      this.#checkOrder(request, order, instance);
    }
  }

  #checkOrder(request: InferenceRequest, order: number, instance: number): void {
    const { sequenceId, sequenceFlags } = request;
    expect(order).toBeGreaterThan(this.#lastOfId.get(sequenceId) ?? -1);
    this.#lastOfId.set(sequenceId, order);
    const isStart = (sequenceFlags & SEQUENCE_START) !== 0;
    if (!isStart) expect(instance).toBe(this.#instanceOfId.get(sequenceId) ?? -1);
    this.#instanceOfId.set(sequenceId, instance);
  }
}

test.each([
  ["direct", "direct { max_queue_delay_microseconds: 300 minimum_slot_utilization: 0.5 }"],
  ["oldest", "oldest { max_candidate_sequences: 3 max_queue_delay_microseconds: 200 }"],
])(
  "%s: random sequences, cancellations, silences and crashes",
  async (_, strategy) => {
    const seed = Number(process.env["SCHEDULER_SEED"] ?? Date.now() % 1_000_000);
    const random = new Random(seed);
    const setup = await SequenceSetup.create({
      maxBatchSize: MAX_BATCH_SIZE,
      instanceCount: 2,
      batching: `${strategy} ${CONTROLS}`,
    });
    const checks = new BatchChecks();
    for (const [i, instance] of setup.pool.instances.entries()) {
      instance.onStart = (batch) => checks.started(batch, i);
    }
    const accepted: SentStep[] = [];
    let refusedCount = 0;
    for (let i = 0; i < STEP_COUNT; i++) {
      const sent = setup.request(BigInt(random.below(ID_COUNT) + 1), {
        start: random.chance(0.3),
        end: random.chance(0.25),
        mergeKey: random.pick(["", "", "", "other"]),
        timeoutMicroseconds: random.chance(0.2) ? random.below(5000) : 0,
      });
      try {
        setup.scheduler.enqueue(sent.request);
        accepted.push(sent);
        checks.sent(sent);
      } catch {
        refusedCount += 1;
      }
      if (random.chance(0.05) && accepted.length > 0)
        random.pick(accepted.slice(-9)).request.cancel();
      if (random.chance(0.5)) setup.clock.advance(random.below(400_000));
      if (random.chance(0.01)) setup.clock.advance(1_500_000_000);
      if (random.chance(0.5)) await turn();
      for (const instance of setup.pool.busy) if (random.chance(0.4)) instance.finish();
      const instance = random.pick(setup.pool.instances);
      if (!instance.isReady) setup.pool.restart(instance);
      else if (random.chance(0.01)) setup.pool.crash(instance, LOST);
    }
    for (const instance of setup.pool.instances) {
      if (!instance.isReady) setup.pool.restart(instance);
    }
    const stopped = setup.scheduler.stop();
    for (let i = 0; i < STEP_COUNT && setup.scheduler.inflightCount > 0; i++) {
      for (const instance of setup.pool.busy) instance.finish();
      setup.clock.advance(1_000_000);
      // Sequences without an END keep their slots until they have been idle long enough.
      if (setup.pool.busy.length === 0) setup.clock.advance(1_000_000_000);
      await turn();
    }
    await stopped;
    const wrong = accepted.filter(({ sink }) => sink.endCount !== 1);
    expect({ seed, wrong: wrong.length }).toEqual({ seed, wrong: 0 });
    const { success, fail } = setup.statistics.snapshot();
    expect({ seed, total: success.count + fail.count }).toEqual({ seed, total: accepted.length });
    expect({ seed, success: success.count > accepted.length / 3 }).toEqual({ seed, success: true });
    expect([setup.scheduler.pendingCount, setup.clock.timerCount]).toEqual([0, 0]);
    expect(refusedCount).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
