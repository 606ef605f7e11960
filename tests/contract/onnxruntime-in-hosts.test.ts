import { afterAll, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import {
  ModelConfigSchema,
  ModelInputSchema,
  ModelInstanceGroup_Kind,
  ModelInstanceGroupSchema,
} from "#gen/inference/model_config_pb.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { OpenModelOptions } from "../../src/core/backend/backend.ts";
import { configToBytes } from "../../src/core/config/config-bytes.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import type { InstanceHome } from "../../src/core/instance/instance-hosts.ts";
import type { InstancePool } from "../../src/core/instance/instance-pool.ts";
import type { ExecutionResult, ModelInstance } from "../../src/core/instance/model-instance.ts";
import type { Batch } from "../../src/core/request/batch.ts";
import { createInstanceHosts } from "../../src/instance-homes.ts";
import { NO_ANSWERS } from "../support/identity-model.ts";
import { type OnnxNode, onnxModel } from "../support/onnx-model.ts";
import { onnxruntimeOrSkip } from "../support/onnxruntime-library.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { sampleConfig, sampleSignature } from "../support/sample-config.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { batchOf, fp32Input, fp32Values, validatedRequest } from "../support/validated-request.ts";

const found = await onnxruntimeOrSkip("the onnxruntime backend in its hosts");

/** Products of `[n,n]` matrices, one after the other, so that a run can be stopped between them. */
function powerModel(productCount: number): Uint8Array {
  const nodes: OnnxNode[] = Array.from({ length: productCount }, (_, i) => ({
    operator: "MatMul",
    inputs: [i === 0 ? "X" : `p${i - 1}`, "X"],
    outputs: [i === productCount - 1 ? "Y" : `p${i}`],
  }));
  return onnxModel({
    nodes,
    inputs: [{ name: "X", type: "FP32", shape: ["n", "n"] }],
    outputs: [{ name: "Y", type: "FP32", shape: ["n", "n"] }],
  });
}

function powerConfig(instanceCount: number): ModelConfig {
  const square = { datatype: "FP32", dims: [-1, -1] } as const;
  const config = sampleConfig({
    inputs: [{ name: "X", ...square }],
    outputs: [{ name: "Y", ...square }],
  });
  const message = create(ModelConfigSchema, {
    name: "m",
    backend: "onnxruntime",
    input: [create(ModelInputSchema, { name: "X" })],
    instanceGroup: [
      create(ModelInstanceGroupSchema, {
        name: "m_0",
        count: instanceCount,
        kind: ModelInstanceGroup_Kind.CPU,
      }),
    ],
  });
  return { ...config, message, backend: "onnxruntime" };
}

function matrixBatch(config: ModelConfig, n: number, value: number): Batch {
  const matrix = new Array<number>(n * n).fill(value);
  return batchOf(validatedRequest(config, [fp32Input("X", [n, n], matrix)]));
}

function run(
  instance: ModelInstance,
  config: ModelConfig,
  n: number,
  value: number,
): Promise<ExecutionResult> {
  return runBatch(instance, matrixBatch(config, n, value));
}

function runBatch(instance: ModelInstance, batch: Batch): Promise<ExecutionResult> {
  return new Promise((resolve) => {
    instance.execute(
      batch,
      (result) => {
        const outputs = result.outputs.map((one) => ({ ...one, bytes: one.bytes.slice() }));
        resolve({ ...result, outputs });
      },
      NO_ANSWERS,
    );
  });
}

function acquireAll(pool: InstancePool): ModelInstance[] {
  const instances: ModelInstance[] = [];
  for (let one = pool.acquire(); one !== undefined; one = pool.acquire()) instances.push(one);
  return instances;
}

describe.skipIf(found === undefined)("onnxruntime in its hosts", () => {
  const folder = new TemporaryFolder();
  const hosts = createInstanceHosts({
    clock: new SystemClock(),
    logger: new RecordingLogger(),
  });

  afterAll(async () => {
    await hosts.dispose();
    folder[Symbol.dispose]();
  });

  /** The first request wakes the instances that sleep. */
  async function wakeAll(pool: InstancePool): Promise<void> {
    const first = pool.acquire();
    if (first !== undefined) pool.release(first);
    const deadlineMs = performance.now() + 20_000;
    while (pool.instances.some((one) => !one.isReady)) {
      if (performance.now() > deadlineMs) throw new Error("an instance did not wake");
      await Bun.sleep(5);
    }
  }

  async function withPool(
    home: InstanceHome,
    given: { readonly model: Uint8Array; readonly instanceCount: number },
    body: (instances: ModelInstance[], config: ModelConfig) => Promise<void>,
  ): Promise<void> {
    folder.file("m/1/model.onnx", given.model);
    const config = powerConfig(given.instanceCount);
    const options: OpenModelOptions = {
      modelName: "m",
      modelVersion: "1",
      modelDirectory: `${folder.path}/m`,
      versionDirectory: `${folder.path}/m/1`,
      config: configToBytes(config.message),
      device: { kind: "CPU", id: -1 },
      backendConfig: {},
      libraryPaths: {},
    };
    const opened = await hosts.open("onnxruntime", options, home);
    const pool = await opened.createPool(config, sampleSignature(config));
    try {
      await wakeAll(pool);
      await body(acquireAll(pool), config);
    } finally {
      await pool.dispose();
    }
  }

  const homes: InstanceHome[] = ["thread", "process"];
  test.each(homes.map((one) => [one]))("instances in a %s run at once, right and apart", (home) =>
    withPool(home, { model: powerModel(2), instanceCount: 3 }, async (instances, config) => {
      expect(instances).toHaveLength(3);
      for (let round = 0; round < 20; round++) {
        const results = await Promise.all(
          instances.map((one, i) => run(one, config, i + 1, round)),
        );
        results.forEach(({ error, outputs }, i) => {
          expect(error).toBeUndefined();
          expect(outputs[0]?.shape).toEqual([i + 1, i + 1]);
          // The cube of an n × n matrix full of v is full of n² v³.
          expect(fp32Values(outputs[0]?.bytes)[0]).toBe((i + 1) ** 2 * round ** 3);
        });
      }
    }),
  );

  test(
    "a running batch is stopped from the main thread, and the instance goes on",
    () =>
      withPool(
        "thread",
        { model: powerModel(400), instanceCount: 1 },
        async (instances, config) => {
          const [instance] = instances;
          if (instance === undefined) throw new Error("there is no instance");
          const startNs = Bun.nanoseconds();
          const whole = await run(instance, config, 320, 0);
          const wholeNs = Bun.nanoseconds() - startNs;
          expect(whole.error).toBeUndefined();
          const batch = matrixBatch(config, 320, 0);
          const stopped = runBatch(instance, batch);
          setTimeout(() => instance.cancel(batch), wholeNs / 8e6);
          const { error } = await stopped;
          expect([error?.code, error?.reason]).toEqual(["CANCELLED", "CANCELED"]);
          expect((await run(instance, config, 2, 1)).error).toBeUndefined();
        },
      ),
    60_000,
  );

  test(
    "of several batches the one that is cancelled ends, whether it runs or waits, and no other",
    () =>
      withPool(
        "thread",
        { model: powerModel(400), instanceCount: 1 },
        async (instances, config) => {
          const [instance] = instances;
          if (instance === undefined) throw new Error("there is no instance");
          const startNs = Bun.nanoseconds();
          await run(instance, config, 320, 0);
          const wholeNs = Bun.nanoseconds() - startNs;
          const batches = [0, 1, 2, 3].map(() => matrixBatch(config, 320, 0));
          const results = batches.map((batch) => runBatch(instance, batch));
          setTimeout(() => {
            for (const at of [0, 2]) instance.cancel(batches[at] ?? batchOf());
          }, wholeNs / 8e6);
          const codes = (await Promise.all(results)).map(({ error }) => error?.code);
          expect(codes).toEqual(["CANCELLED", undefined, "CANCELLED", undefined]);
        },
      ),
    60_000,
  );
});
