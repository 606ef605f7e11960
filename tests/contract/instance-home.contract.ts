import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type { InstanceHome, InstanceHosts } from "../../src/core/instance/instance-hosts.ts";
import type { InstancePool } from "../../src/core/instance/instance-pool.ts";
import type { ExecutionResult, ModelInstance } from "../../src/core/instance/model-instance.ts";
import type { Batch } from "../../src/core/request/batch.ts";
import { createInstanceHosts } from "../../src/instance-homes.ts";
import {
  type IdentityFields,
  identityConfig,
  NO_ANSWERS,
  openOptions,
} from "../support/identity-model.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { sampleSignature } from "../support/sample-config.ts";
import {
  batchOf,
  bytesInput,
  fp32Input,
  fp32Values,
  type RequestInput,
  validatedRequest,
} from "../support/validated-request.ts";

/** What {@link instanceHomeContract} is told of one home. */
export interface InstanceHomeCases {
  readonly home: InstanceHome;
  /** Load and unload cycles over which memory must stay flat; set by TRIBUNE_LOAD_CYCLES for long runs. */
  readonly loadCycleCount: number;
}

function run(instance: ModelInstance, batch: Batch): Promise<ExecutionResult> {
  return new Promise((resolve) => {
    // Output bytes are borrowed; here they are copied so that a test can look at them later.
    instance.execute(
      batch,
      (result) => {
        const outputs = result.outputs.map((output) => ({
          ...output,
          bytes: output.bytes.slice(),
        }));
        resolve({ ...result, outputs });
      },
      NO_ANSWERS,
    );
  });
}

function acquired(pool: InstancePool): ModelInstance {
  const instance = pool.acquire();
  if (instance === undefined) throw new Error("no instance is free");
  return instance;
}

/** Message of a rejection. `expect(…).rejects` is of no use here: Bun then holds back what Workers post. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "no failure";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

async function until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadlineMs = Date.now() + timeoutMs;
  while (!condition() && Date.now() < deadlineMs) await Bun.sleep(2);
  return condition();
}

/** Every home of instances keeps these promises. Runs the identity backend in real hosts. */
export function instanceHomeContract({ home, loadCycleCount }: InstanceHomeCases): void {
  describe(`instances in a ${home}`, () => {
    const logger = new RecordingLogger();
    let hosts: InstanceHosts;

    beforeAll(() => {
      hosts = createInstanceHosts({ clock: new SystemClock(), logger });
    });

    afterAll(() => hosts.dispose());

    async function poolOf(config: ModelConfig): Promise<InstancePool> {
      const opened = await hosts.open("identity", openOptions(config), home);
      return await opened.createPool(config, sampleSignature(config));
    }

    /** Opens a model, gives it to the test, and frees it whatever happens. */
    async function using(
      fields: IdentityFields,
      body: (pool: InstancePool, config: ModelConfig) => Promise<void>,
    ): Promise<void> {
      const config = identityConfig(fields);
      const pool = await poolOf(config);
      try {
        await body(pool, config);
      } finally {
        await pool.dispose();
      }
    }

    const vector: IdentityFields = {
      tensors: [{ datatype: "FP32", dims: [-1] }],
      maxBatchSize: 8,
    };

    test("joins the rows of all requests, in order", () =>
      using(vector, async (pool, config) => {
        const request = (rows: number, first: number) =>
          validatedRequest(config, [
            fp32Input(
              "INPUT0",
              [rows, 2],
              Array.from({ length: rows * 2 }, (_, i) => first + i),
            ),
          ]);
        const result = await run(acquired(pool), batchOf(request(1, 10), request(3, 20)));
        expect(result.error).toBeUndefined();
        expect(
          result.outputs.map(({ index, datatype, shape }) => [index, datatype, shape]),
        ).toEqual([[0, "FP32", [4, 2]]]);
        expect(fp32Values(result.outputs[0]?.bytes)).toEqual([10, 11, 20, 21, 22, 23, 24, 25]);
        expect(result.computeInputNs).toBeGreaterThan(0);
        expect(result.computeInferNs).toBeGreaterThan(0);
        expect(result.computeOutputNs).toBeGreaterThan(0);
      }));

    test("carries several tensors of all kinds, and only the wanted outputs", () => {
      const tensors = [
        { datatype: "INT64", dims: [2] },
        { datatype: "BYTES", dims: [-1] },
        { datatype: "BOOL", dims: [3] },
        { datatype: "FP16", dims: [1, 1] },
      ] as const;
      return using({ tensors }, async (pool, config) => {
        const bytes = (count: number) => Uint8Array.from({ length: count }, (_, i) => i + 1);
        const inputs: RequestInput[] = [
          { name: "INPUT0", datatype: "INT64", shape: [2], bytes: bytes(16) },
          bytesInput("INPUT1", [3], ["", "a\0b", "x".repeat(70_000)]),
          { name: "INPUT2", datatype: "BOOL", shape: [3], bytes: bytes(3) },
          { name: "INPUT3", datatype: "FP16", shape: [1, 1], bytes: bytes(2) },
        ];
        const instance = acquired(pool);
        const all = await run(instance, batchOf(validatedRequest(config, inputs)));
        expect(all.outputs.map(({ bytes }) => bytes)).toEqual(inputs.map(({ bytes }) => bytes));
        const wanted = [3, 1].map((i) => ({ name: `OUTPUT${i}`, classificationCount: 0 }));
        const some = await run(
          instance,
          batchOf(validatedRequest(config, inputs, { outputs: wanted })),
        );
        expect(some.outputs.map(({ index }) => index)).toEqual([1, 3]);
      });
    });

    test("carries tensors without elements", () =>
      using(vector, async (pool, config) => {
        const instance = acquired(pool);
        for (const shape of [
          [1, 0],
          [3, 0],
        ]) {
          const result = await run(
            instance,
            batchOf(validatedRequest(config, [fp32Input("INPUT0", shape, [])])),
          );
          expect(result.error).toBeUndefined();
          expect(result.outputs.map((output) => [output.shape, output.bytes.length])).toEqual([
            [shape, 0],
          ]);
        }
      }));

    test("carries response parameters", () =>
      using(vector, async (pool, config) => {
        const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [1])]));
        const instance = acquired(pool);
        const first = await run(instance, batch);
        expect([...first.sharedParameters]).toEqual([
          ["param0", { kind: "string", value: "an example string parameter" }],
          ["param1", { kind: "int64", value: 42n }],
          ["param2", { kind: "bool", value: false }],
          ["param3", { kind: "double", value: 123.123 }],
        ]);
        expect((await run(instance, batch)).sharedParameters).toBe(first.sharedParameters);
      }));

    test("an absent optional input gives zeros", () => {
      const tensors = [
        { datatype: "FP32", dims: [1] },
        { datatype: "INT32", dims: [2, -1], isOptional: true },
      ] as const;
      return using({ tensors, maxBatchSize: 4 }, async (pool, config) => {
        const request = validatedRequest(config, [fp32Input("INPUT0", [2, 1], [1, 2])]);
        const result = await run(acquired(pool), batchOf(request));
        expect(result.outputs[1]?.shape).toEqual([2, 2, 1]);
        expect(result.outputs[1]?.bytes).toEqual(new Uint8Array(16));
      });
    });

    test("slabs grow and shrink with the batches, and every row stays right", () =>
      using(vector, async (pool, config) => {
        const instance = acquired(pool);
        const sizes = [1, 4000, 3, 700_000, 10, 3_000_000, ...Array.from({ length: 80 }, () => 50)];
        for (const [round, elementCount] of sizes.entries()) {
          const values = new Float32Array(elementCount).fill(round + 1);
          values[elementCount - 1] = -round;
          const bytes = new Uint8Array(values.buffer);
          const input = {
            name: "INPUT0",
            datatype: "FP32",
            shape: [1, elementCount],
            bytes,
          } as const;
          const result = await run(instance, batchOf(validatedRequest(config, [input])));
          expect(result.error).toBeUndefined();
          expect(Buffer.compare(result.outputs[0]?.bytes ?? bytes.slice(1), bytes)).toBe(0);
        }
      }));

    test("outputs stay intact while the next batch runs", () =>
      using(vector, async (pool, config) => {
        const instance = acquired(pool);
        const batch = (value: number) =>
          batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [value])]));
        const seen: number[][] = [];
        await new Promise<void>((resolve) => {
          const next = (value: number) => (result: ExecutionResult) => {
            if (value < 50) instance.execute(batch(value + 1), next(value + 1), NO_ANSWERS);
            const endNs = Bun.nanoseconds() + 300e3;
            // Long enough for the next batch to run while this one's outputs are still to be read.
            while (Bun.nanoseconds() < endNs);
            seen.push(fp32Values(result.outputs[0]?.bytes));
            if (value === 50) resolve();
          };
          instance.execute(batch(1), next(1), NO_ANSWERS);
        });
        expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => [i + 1]));
      }));

    test("instances run side by side; passive ones get no work", () => {
      const groups = [
        { name: "left", count: 2 },
        { name: "spare", count: 1, passive: true },
      ];
      const parameters = { execute_delay_ms: "200" };
      return using({ ...vector, groups, parameters }, async (pool, config) => {
        expect(pool.instances.map(({ name }) => name)).toEqual(["left_0", "left_1", "spare_0"]);
        const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [1])]));
        const instances = [acquired(pool), acquired(pool)];
        expect(pool.hasFree).toBe(false);
        const startMs = Date.now();
        await Promise.all(instances.map((instance) => run(instance, batch)));
        expect(Date.now() - startMs).toBeLessThan(390);
        for (const instance of instances) pool.release(instance);
        expect(pool.hasFree).toBe(true);
      });
    });

    test("the end of a pool waits for the running batch", async () => {
      const config = identityConfig({ ...vector, parameters: { execute_delay_ms: "150" } });
      const pool = await poolOf(config);
      const instance = acquired(pool);
      let result: ExecutionResult | undefined;
      const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [7])]));
      instance.execute(
        batch,
        (executed) => {
          result = executed;
        },
        NO_ANSWERS,
      );
      await Promise.all([pool.dispose(), pool.dispose()]);
      expect(result?.error).toBeUndefined();
      expect(result?.outputs.length).toBe(1);
      expect(instance.isReady).toBe(false);
      expect(pool.isHealthy).toBe(false);
    });

    test("a backend that does not exist is refused by name", async () => {
      const config = identityConfig(vector);
      const failure = await failureOf(hosts.open("nope", openOptions(config), home));
      expect(failure).toContain("unable to find backend library for backend 'nope'");
    });

    test("a model that cannot be made leaves nothing behind, and another can be opened", async () => {
      const bad = identityConfig({ ...vector, groups: [{ name: "g", count: 3 }] });
      const opened = await hosts.open("identity", openOptions(bad), home);
      const signature = { ...sampleSignature(bad), outputs: [] };
      const failure = await failureOf(opened.createPool(bad, signature));
      expect(failure).toContain("model configuration must have equal input/output pairs");
      await using(vector, async (pool) => expect(pool.isHealthy).toBe(true));
    });

    test("an opened model that nobody wants can be freed", async () => {
      const opened = await hosts.open("identity", openOptions(identityConfig(vector)), home);
      await opened.dispose();
      await opened.dispose();
    });

    test(`memory stays flat over ${loadCycleCount} loads and unloads`, async () => {
      const config = identityConfig(vector);
      const cycle = async () => {
        const pool = await poolOf(config);
        const request = validatedRequest(config, [fp32Input("INPUT0", [1, 5], [1, 2, 3, 4, 5])]);
        const result = await run(acquired(pool), batchOf(request));
        expect(result.error).toBeUndefined();
        await pool.dispose();
      };
      const rssAfter = async (count: number) => {
        for (let i = 0; i < count; i++) await cycle();
        Bun.gc(true);
        return process.memoryUsage.rss();
      };
      const warmBytes = await rssAfter(Math.ceil(loadCycleCount / 2));
      const endBytes = await rssAfter(loadCycleCount);
      expect(endBytes - warmBytes).toBeLessThan(16e6);
    }, 300_000);

    if (home === "process") crashCases(using, vector);
  });
}

/** What only a home with a process of its own can promise. */
function crashCases(
  using: (
    fields: IdentityFields,
    body: (pool: InstancePool, config: ModelConfig) => Promise<void>,
  ) => Promise<void>,
  vector: IdentityFields,
): void {
  const childPids = () => {
    const listing = Bun.spawnSync(["ps", "-o", "pid=,args=", "--ppid", String(process.pid)]);
    return listing.stdout
      .toString()
      .split("\n")
      .filter((line) => line.includes("instance-host"))
      .map((line) => Number(line.trim().split(" ")[0]));
  };

  test("a child killed in mid-batch fails that batch at once, and a fresh child serves", () =>
    using({ ...vector, parameters: { execute_delay_ms: "5000" } }, async (pool, config) => {
      const [pid] = childPids();
      const instance = acquired(pool);
      const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [1])]));
      const running = run(instance, batch);
      await Bun.sleep(50);
      const startMs = Date.now();
      process.kill(pid ?? 0, "SIGKILL");
      const result = await running;
      expect(Date.now() - startMs).toBeLessThan(1000);
      expect([result.error?.code, result.error?.reason]).toEqual(["INTERNAL", "BACKEND"]);
      expect(result.error?.message).toContain("stopped unexpectedly while it ran a batch");
      expect(result.error?.message).toContain("SIGKILL");
      expect(instance.isReady).toBe(false);
      pool.release(instance);
      expect(pool.hasFree).toBe(false);
      expect(await until(() => pool.isHealthy, 5000)).toBe(true);
      expect(acquired(pool)).toBe(instance);
      expect(childPids()).not.toContain(pid);
      pool.release(instance);
    }));

  test("an idle child that is killed is replaced, and batches run as before", () =>
    using(vector, async (pool, config) => {
      const instance = acquired(pool);
      const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [3])]));
      await run(instance, batch);
      pool.release(instance);
      let freeCount = 0;
      pool.onFree = () => {
        freeCount += 1;
      };
      const [pid] = childPids();
      process.kill(pid ?? 0, "SIGKILL");
      expect(await until(() => freeCount === 1, 5000)).toBe(true);
      const result = await run(acquired(pool), batch);
      expect(fp32Values(result.outputs[0]?.bytes)).toEqual([3]);
    }));

  test("no child outlives its pool", async () => {
    await using(vector, async () => expect(childPids().length).toBe(1));
    expect(childPids()).toEqual([]);
  });
}
