import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import type { ExecutionBatch } from "../../../../src/core/backend/backend-instance.ts";
import type { ModelConfig } from "../../../../src/core/config/model-config.ts";
import type { InstancePool } from "../../../../src/core/instance/instance-pool.ts";
import { LocalInstanceHosts } from "../../../../src/core/instance/local-instance-hosts.ts";
import type {
  ExecutionResult,
  ModelInstance,
} from "../../../../src/core/instance/model-instance.ts";
import type { Batch } from "../../../../src/core/request/batch.ts";
import {
  type IdentityFields,
  identityConfig,
  NO_ANSWERS,
  openOptions,
} from "../../../support/identity-model.ts";
import { LoopbackHome } from "../../../support/loopback-home.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { sampleSignature } from "../../../support/sample-config.ts";
import { type BackendScript, ScriptedBackend } from "../../../support/scripted-backend.ts";
import { settle } from "../../../support/settle.ts";
import {
  batchOf,
  fp32Input,
  fp32Values,
  validatedRequest,
} from "../../../support/validated-request.ts";

const FIELDS: IdentityFields = { tensors: [{ datatype: "FP32", dims: [-1] }], maxBatchSize: 8 };

/** Hosts in this thread, whose backends do as told. */
class Setup {
  readonly clock = new ManualClock();
  readonly logger = new RecordingLogger();
  readonly backends: ScriptedBackend[] = [];
  readonly cancelled: number[] = [];
  readonly home: LoopbackHome;
  readonly hosts: LocalInstanceHosts;
  readonly config: ModelConfig;

  constructor(script: BackendScript = {}, fields: Partial<IdentityFields> = {}) {
    this.config = identityConfig({ ...FIELDS, ...fields });
    this.home = new LoopbackHome(() => {
      const backend = new ScriptedBackend(script);
      this.backends.push(backend);
      return backend;
    });
    this.hosts = new LocalInstanceHosts({
      clock: this.clock,
      logger: this.logger,
      homes: { thread: this.home, process: this.home },
      cancels: { scripted: (handle) => void this.cancelled.push(handle) },
    });
  }

  open() {
    return this.hosts.open("scripted", openOptions(this.config), "thread");
  }

  async pool(): Promise<InstancePool> {
    return await (await this.open()).createPool(this.config, sampleSignature(this.config));
  }

  batch(...values: number[]) {
    const input = fp32Input("INPUT0", [1, values.length], values);
    return batchOf(validatedRequest(this.config, [input]));
  }

  run(instance: ModelInstance, ...values: number[]): Promise<ExecutionResult> {
    return this.runBatch(instance, this.batch(...values));
  }

  runBatch(instance: ModelInstance, batch: Batch): Promise<ExecutionResult> {
    return new Promise((resolve) =>
      instance.execute(
        batch,
        (result) => {
          const outputs = result.outputs.map((one) => ({ ...one, bytes: one.bytes.slice() }));
          resolve({ ...result, outputs });
        },
        NO_ANSWERS,
      ),
    );
  }
}

function taken(pool: InstancePool): ModelInstance {
  const instance = pool.acquire();
  if (instance === undefined) throw new Error("no instance is free");
  return instance;
}

describe("opening and pools", () => {
  test("the report of the model file comes back, and freeing ends the host", async () => {
    const report = { inputs: [], outputs: [], sharedHandle: 5 };
    const setup = new Setup({ report });
    const opened = await setup.open();
    expect(opened.report).toEqual(report);
    await setup.hosts.dispose();
    expect(setup.backends[0]?.disposed).toEqual(["model", "backend"]);
    expect(setup.home.links[0]?.hasEnded).toBe(true);
  });

  test("a model that cannot be opened throws the backend's words, and its host is gone", async () => {
    const setup = new Setup({
      open: () => {
        throw new InferenceError("INVALID_ARG", "bad protobuf");
      },
    });
    const failure: unknown = await setup.open().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InferenceError);
    expect(String(failure)).toContain("bad protobuf");
    expect(setup.home.links[0]?.hasEnded).toBe(true);
  });

  test("further instances share the first host's session, which is freed last", async () => {
    const setup = new Setup(
      { report: { inputs: [], outputs: [], sharedHandle: 77 } },
      { groups: [{ name: "g", count: 3 }] },
    );
    const pool = await setup.pool();
    // An idle model costs one host; the others start with the first request.
    expect(setup.backends.map(({ openedWith }) => openedWith)).toEqual([[undefined]]);
    const first = pool.acquire();
    if (first !== undefined) pool.release(first);
    while (pool.instances.some((one) => !one.isReady)) await settle();
    expect(setup.backends.map(({ openedWith }) => openedWith)).toEqual([[undefined], [77], [77]]);
    let othersFreed = false;
    const owner = setup.backends[0]?.disposed ?? [];
    const push = owner.push.bind(owner);
    owner.push = (...names: string[]) => {
      othersFreed = setup.backends.slice(1).every(({ disposed }) => disposed.length === 3);
      return push(...names);
    };
    await pool.dispose();
    expect(othersFreed).toBe(true);
    expect(owner).toEqual(["instance g_0", "model", "backend"]);
    expect(setup.home.slabs.liveCount).toBe(0);
  });

  test("when one instance cannot be made, all are freed and the reason is thrown", async () => {
    const setup = new Setup(
      {
        createInstance: (name) => {
          if (name === "g_1") throw new InferenceError("INVALID_ARG", "does not fit");
        },
      },
      { groups: [{ name: "g", count: 3 }] },
    );
    const failure = await setup.pool().catch((error: unknown) => String(error));
    expect(failure).toContain("does not fit");
    expect(setup.home.links.map(({ hasEnded }) => hasEnded)).toEqual([true, true, true]);
  });

  test("a second createPool is refused", async () => {
    const setup = new Setup();
    const opened = await setup.open();
    const pool = await opened.createPool(setup.config, sampleSignature(setup.config));
    const again = opened.createPool(setup.config, sampleSignature(setup.config));
    expect(await again.catch((error: unknown) => String(error))).toContain("handed over");
    await pool.dispose();
  });
});

describe("batches", () => {
  test("a batch that fails as a whole leaves the instance usable", async () => {
    let callCount = 0;
    const setup = new Setup({
      execute: (batch: ExecutionBatch) => {
        callCount += 1;
        batch.allocateOutput(0, "FP32", [1], 4);
        if (callCount === 1) throw new InferenceError("INVALID_ARG", "index out of range");
        return callCount === 2 ? Promise.reject(new Error("cannot read x")) : undefined;
      },
    });
    const pool = await setup.pool();
    const instance = taken(pool);
    const seen: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const { error, outputs } = await setup.run(instance, 1);
      seen.push([error?.code, error?.reason, error?.message, outputs.length]);
    }
    expect(seen).toEqual([
      ["INVALID_ARG", "BACKEND", "index out of range", 0],
      ["INTERNAL", "BACKEND", "unexpected error: cannot read x", 0],
      [undefined, undefined, undefined, 1],
    ]);
    await pool.dispose();
  });

  test("a request can fail alone, with the label of failed executions", async () => {
    const setup = new Setup({
      execute: (batch) => batch.failRequest(0, new InferenceError("UNSUPPORTED", "not this one")),
    });
    const pool = await setup.pool();
    const { error, requestErrors } = await setup.run(taken(pool), 1);
    expect(error).toBeUndefined();
    expect([requestErrors.get(0)?.code, requestErrors.get(0)?.reason]).toEqual([
      "UNSUPPORTED",
      "BACKEND",
    ]);
    await pool.dispose();
  });

  test("without memory for inputs or outputs the batch fails, and the next one that fits runs", async () => {
    const setup = new Setup();
    const pool = await setup.pool();
    const instance = taken(pool);
    await setup.run(instance, 1);
    setup.home.slabs.limitBytes = 100_000;
    const large = await setup.run(instance, ...Array.from({ length: 100_000 }, () => 1));
    expect(large.error?.message).toContain("cannot allocate");
    // Fits the input slab but not, with its headroom, the output slab that replaces the present one.
    setup.home.slabs.limitBytes = 20_000;
    const middle = await setup.run(instance, ...Array.from({ length: 4500 }, () => 1));
    expect(middle.error).toBeDefined();
    setup.home.slabs.limitBytes = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 4; i++) {
      const small = await setup.run(instance, 7);
      expect(fp32Values(small.outputs[0]?.bytes)).toEqual([7]);
    }
    await pool.dispose();
    expect(setup.home.slabs.liveCount).toBe(0);
  });

  test("only a running batch is cancelled, by the handle that the backend gave", async () => {
    const setup = new Setup({ cancelHandle: 4711 });
    const pool = await setup.pool();
    const instance = taken(pool);
    const batch = setup.batch(1);
    instance.cancel(batch);
    expect(setup.cancelled).toEqual([]);
    const running = setup.runBatch(instance, batch);
    instance.cancel(batch);
    expect(setup.cancelled).toEqual([4711]);
    await running;
    instance.cancel(batch);
    expect(setup.cancelled).toEqual([4711]);
    await pool.dispose();
  });

  test("several batches are there at once, run one after the other, and keep their outputs apart", async () => {
    let overlapCount = 0;
    let runningCount = 0;
    const setup = new Setup({
      execute: async (batch: ExecutionBatch) => {
        runningCount += 1;
        overlapCount = Math.max(overlapCount, runningCount);
        await settle();
        const values = new Float32Array(batch.inputs[0]?.bytes.slice().buffer ?? new ArrayBuffer());
        const { bytes } = batch.allocateOutput(0, "FP32", [1, values.length], values.byteLength);
        bytes.set(new Uint8Array(values.buffer));
        runningCount -= 1;
      },
    });
    const pool = await setup.pool();
    const instance = taken(pool);
    const answered: unknown[] = [];
    const results = Array.from({ length: instance.capacity }, (_, i) =>
      setup.run(instance, i).then((result) => {
        answered.push(i);
        return fp32Values(result.outputs[0]?.bytes);
      }),
    );
    expect(() => instance.execute(setup.batch(1), () => undefined, NO_ANSWERS)).toThrow(
      "more than 4 batches at once",
    );
    expect(await Promise.all(results)).toEqual([[0], [1], [2], [3]]);
    expect([answered, overlapCount]).toEqual([[0, 1, 2, 3], 1]);
    await pool.dispose();
  });

  test("outputs stay intact while a full instance gets the next batch from inside the answer", async () => {
    const setup = new Setup();
    const pool = await setup.pool();
    const instance = taken(pool);
    const seen: number[] = [];
    let nextValue = 0;
    await new Promise<void>((resolve) => {
      const submit = (): void => {
        if (nextValue === 40) return;
        const value = nextValue++;
        instance.execute(
          setup.batch(value),
          (result) => {
            submit();
            seen.push(fp32Values(result.outputs[0]?.bytes)[0] ?? -1);
            if (seen.length === 40) resolve();
          },
          NO_ANSWERS,
        );
      };
      for (let i = 0; i < instance.capacity; i++) submit();
    });
    expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => i));
    await pool.dispose();
  });

  test("a pool gives batches ahead to the busy instance with the fewest, up to its capacity", async () => {
    const setup = new Setup({}, { groups: [{ name: "g", count: 2 }] });
    const pool = await setup.pool();
    expect(pool.acquireAhead()).toBeUndefined();
    const [first, second] = [taken(pool), taken(pool)];
    pool.release(second);
    expect([pool.acquireAhead(), pool.acquireAhead()]).toEqual([first, first]);
    expect(taken(pool)).toBe(second);
    expect([pool.acquireAhead(), pool.acquireAhead(), pool.acquireAhead()]).toEqual([
      second,
      second,
      first,
    ]);
    expect([pool.acquireAhead(), pool.acquireAhead()]).toEqual([second, undefined]);
    for (let i = 0; i < 3; i++) pool.release(first);
    expect(pool.hasFree).toBe(false);
    pool.release(first);
    expect(pool.hasFree).toBe(true);
    for (let i = 0; i < 4; i++) pool.release(second);
    await pool.dispose();
  });

  test("records of the host reach the server's log", async () => {
    const setup = new Setup();
    const pool = await setup.pool();
    const [link] = setup.home.links;
    link?.say({ type: "log", severity: "warning", level: 0, message: "careful", fields: { a: 1 } });
    link?.say({ type: "log", severity: "verbose", level: 2, message: "detail", fields: {} });
    await settle();
    expect(setup.logger.messages("warning")).toEqual(["careful"]);
    expect(setup.logger.messages("verbose")).toEqual(["detail"]);
    await pool.dispose();
  });
});

describe("crashes", () => {
  const SECOND_NS = 1e9;

  test("the running batch fails, and after a pause a fresh host serves", async () => {
    const setup = new Setup({ execute: () => new Promise<void>(() => undefined) });
    const pool = await setup.pool();
    const instance = taken(pool);
    const events: string[] = [];
    pool.onFree = () => events.push("free");
    pool.onDown = () => events.push("down");
    const running = setup.run(instance, 1);
    await settle();
    setup.home.links[0]?.crash("it was killed");
    const { error } = await running;
    expect([error?.code, error?.reason]).toEqual(["INTERNAL", "BACKEND"]);
    expect(error?.message).toContain(
      "'echo_0_0' stopped unexpectedly while it ran a batch: it was killed",
    );
    pool.release(instance);
    expect([instance.isReady, pool.isHealthy, pool.hasFree]).toEqual([false, false, false]);
    setup.clock.advance(SECOND_NS);
    await settle();
    expect(events).toEqual(["free"]);
    expect([instance.isReady, pool.isHealthy, pool.hasFree]).toEqual([true, true, true]);
    expect(setup.home.links.length).toBe(2);
    await pool.dispose();
  });

  test("all batches that a crashed host had fail, and no place is lost", async () => {
    const setup = new Setup({ execute: () => new Promise<void>(() => undefined) });
    const pool = await setup.pool();
    const instance = taken(pool);
    pool.acquireAhead();
    const running = [setup.run(instance, 1), setup.run(instance, 2)];
    await settle();
    setup.home.links[0]?.crash("it was killed");
    const codes = (await Promise.all(running)).map(({ error }) => error?.code);
    expect(codes).toEqual(["INTERNAL", "INTERNAL"]);
    pool.release(instance);
    setup.clock.advance(SECOND_NS);
    await settle();
    expect([instance.isReady, pool.hasFree]).toEqual([true, false]);
    pool.release(instance);
    expect(pool.hasFree).toBe(true);
    await pool.dispose();
  });

  test("an idle instance that crashes is not handed out", async () => {
    const setup = new Setup({}, { groups: [{ name: "g", count: 2 }] });
    const pool = await setup.pool();
    setup.home.links[0]?.crash("gone");
    expect(pool.isHealthy).toBe(true);
    expect([pool.acquire(), pool.acquire()].filter((one) => one !== undefined).length).toBe(1);
    await pool.dispose();
  });

  test("restarts that fail are told, tried again at growing intervals, and given up by dispose", async () => {
    const setup = new Setup();
    const pool = await setup.pool();
    const reasons: string[] = [];
    pool.onDown = (reason) => reasons.push(`${reason.code} ${reason.message}`);
    setup.home.startFailure = new InferenceError("INTERNAL", "no more processes");
    setup.home.links[0]?.crash("gone");
    const startsAfter: number[] = [];
    for (const waitNs of [0.05, 0.05, 0.05, 1, 1, 40, 40].map((seconds) => seconds * SECOND_NS)) {
      setup.clock.advance(waitNs);
      await settle();
      startsAfter.push(reasons.length);
    }
    expect(startsAfter.at(-1)).toBeGreaterThanOrEqual(6);
    expect(startsAfter.at(-1)).toBeLessThan(12);
    expect(reasons[0]).toBe(
      "UNAVAILABLE model 'echo', instance 'echo_0_0' is down: no more processes",
    );
    await pool.dispose();
    setup.home.startFailure = undefined;
    setup.clock.advance(100 * SECOND_NS);
    await settle();
    expect(setup.home.links.length).toBe(1);
  });

  test("after a restart the new host is told where the inputs are", async () => {
    const setup = new Setup();
    const pool = await setup.pool();
    const instance = taken(pool);
    for (const value of [1, 2, 3]) await setup.run(instance, value);
    setup.home.links[0]?.crash("gone");
    setup.clock.advance(SECOND_NS);
    await settle();
    for (const value of [4, 5, 6]) {
      expect(fp32Values((await setup.run(instance, value)).outputs[0]?.bytes)).toEqual([value]);
    }
    await pool.dispose();
  });

  test("a host that dies while the pool is being freed does not hold it up", async () => {
    const setup = new Setup({ execute: () => new Promise<void>(() => undefined) });
    const pool = await setup.pool();
    const running = setup.run(taken(pool), 1);
    await settle();
    const disposal = pool.dispose();
    setup.home.links[0]?.crash("gone");
    await disposal;
    expect((await running).error).toBeDefined();
    setup.clock.advance(SECOND_NS);
    await settle();
    expect(setup.home.links.length).toBe(1);
  });
});
