import { expect, test } from "bun:test";
import { join } from "node:path";
import { InferenceError } from "../../../../src/base/error.ts";
import { executionSignatureFrom } from "../../../../src/core/backend/execution-signature.ts";
import { modelConfigFromMessage } from "../../../../src/core/config/model-config-from.ts";
import { parseConfigText } from "../../../../src/core/config/parse-config.ts";
import { warmUp } from "../../../../src/core/model/warm-up.ts";
import {
  readWarmUpSamples,
  type WarmUpSample,
} from "../../../../src/core/model/warm-up-samples.ts";
import type { Batch } from "../../../../src/core/request/batch.ts";
import type { SchedulerOptions } from "../../../../src/core/scheduler/scheduler-options.ts";
import { ModelCounters } from "../../../../src/core/statistics/model-counters.ts";
import { EMPTY_RESULT, FakePool } from "../../../support/fake-pool.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

const MODEL =
  'name: "m" max_batch_size: 4 ' +
  'input { name: "X" data_type: TYPE_FP32 dims: 2 } output { name: "Y" data_type: TYPE_FP32 dims: 2 }';

function sampleText(data: string, fields = "batch_size: 1", input = "X", dims = 2): string {
  return (
    `${MODEL} model_warmup { name: "w" ${fields} inputs { key: "${input}" ` +
    `value { data_type: TYPE_FP32 dims: ${dims} ${data} } } }`
  );
}

interface Prepared {
  readonly samples: readonly WarmUpSample[];
  readonly options: SchedulerOptions;
  readonly pool: FakePool;
  readonly statistics: ModelCounters;
}

async function prepare(text: string, directory = "/nowhere", instanceCount = 1): Promise<Prepared> {
  const { message } = parseConfigText(text, "config.pbtxt");
  const config = await modelConfigFromMessage(message, directory);
  const signature = executionSignatureFrom(config);
  const samples = await readWarmUpSamples(config, signature, directory);
  const pool = new FakePool(instanceCount);
  const statistics = new ModelCounters();
  const clock = new ManualClock();
  const options: SchedulerOptions = {
    config,
    signature,
    versionText: "1",
    pool,
    clock,
    statistics,
    classify: (output) => output,
  };
  return { samples, options, pool, statistics };
}

/** Every instance ends each batch with this result. */
function answerAll(pool: FakePool, result = EMPTY_RESULT): Batch[] {
  const batches: Batch[] = [];
  for (const instance of pool.instances) {
    instance.onStart = (batch) => {
      batches.push(batch);
      queueMicrotask(() => instance.finish(result));
    };
  }
  return batches;
}

function floats(bytes: Uint8Array | undefined): readonly number[] {
  return [...new Float32Array(Uint8Array.from(bytes ?? []).buffer)];
}

test("a sample runs as one batch of single rows, and is counted", async () => {
  const { samples, options, pool, statistics } = await prepare(
    sampleText("zero_data: true", "batch_size: 3"),
  );
  const batches = answerAll(pool);
  await warmUp(samples, options);
  const [batch] = batches;
  expect([batches.length, batch?.rowCount]).toEqual([1, 3]);
  expect(batch?.requests.map(({ inputBytes }) => floats(inputBytes[0]))).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  const { success, inferenceCount, executionCount } = statistics.snapshot();
  expect([success.count, inferenceCount, executionCount]).toEqual([3, 3, 1]);
});

test("count repeats the sample on every instance, one batch at a time", async () => {
  const { samples, options, pool } = await prepare(
    sampleText("zero_data: true", "batch_size: 1 count: 3"),
    "/nowhere",
    2,
  );
  const batches = answerAll(pool);
  await warmUp(samples, options);
  expect(batches).toHaveLength(6);
});

test("a sample without batch size is skipped", async () => {
  const { samples } = await prepare(sampleText("zero_data: true", "batch_size: 0", "NOPE"));
  expect(samples).toEqual([]);
});

test("random floats are finite and not all the same", async () => {
  const { samples } = await prepare(sampleText("random_data: true"));
  const numbers = floats(samples[0]?.inputBytes[0]);
  expect(numbers.every((number) => number >= 1 && number < 2)).toBe(true);
  expect(new Set(numbers).size).toBe(2);
});

test("a file in the folder warmup gives the data; what is beyond the first row is not used", async () => {
  using folder = new TemporaryFolder();
  folder.file("warmup/numbers", new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer));
  const { samples } = await prepare(sampleText('input_data_file: "numbers"'), folder.path);
  expect(floats(samples[0]?.inputBytes[0])).toEqual([1, 2]);
});

test("controls have to be given, states are zero where they are not", async () => {
  const sequence =
    'sequence_batching { control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ 0, 1 ] } } ' +
    'state { input_name: "S" output_name: "T" data_type: TYPE_FP32 dims: -1 } } ';
  const control =
    'inputs { key: "READY" value { data_type: TYPE_FP32 dims: 1 zero_data: true } } }';
  const without = sampleText("zero_data: true").replace("model_warmup", `${sequence}model_warmup`);
  await expect(prepare(without)).rejects.toThrow("missing required input(s) ['READY']");
  const { samples } = await prepare(without.replace(/}$/, control));
  expect(samples[0]?.signature.inputs.map(({ name, shape }) => [name, shape])).toEqual([
    ["X", [1, 2]],
    ["READY", [1, 1]],
    ["S", [1, 1]],
  ]);
});

test.each([
  [
    "an input that is not there",
    sampleText("zero_data: true", "batch_size: 1", "NOPE"),
    "the model has no input(s) ['NOPE']; missing required input(s) ['X']",
  ],
  [
    "dims that do not fit",
    sampleText("zero_data: true", "batch_size: 1", "X", 3),
    "Expected [-1,2], got [1,3]",
  ],
  [
    "a file that is not there",
    sampleText('input_data_file: "none"'),
    "cannot be read from '/nowhere/warmup/none'",
  ],
  [
    "too many rows",
    sampleText("zero_data: true", "batch_size: 5"),
    "batch_size is 5, max_batch_size 4",
  ],
])("%s is refused, naming sample and model", async (_, text, message) => {
  const attempt = prepare(text);
  await expect(attempt).rejects.toThrow("model_warmup sample 'w' of model 'm': ");
  await expect(attempt).rejects.toThrow(message);
});

test("a file that is too short is refused by name", async () => {
  using folder = new TemporaryFolder();
  folder.file("warmup/few", new Uint8Array(4));
  await expect(prepare(sampleText('input_data_file: "few"'), folder.path)).rejects.toThrow(
    `input 'X' needs 8 bytes, but the file '${join(folder.path, "warmup/few")}' has 4`,
  );
});

test("a failed execution fails the warm-up once every instance has come to its end", async () => {
  const { samples, options, pool } = await prepare(sampleText("zero_data: true"), "/nowhere", 2);
  const [first, second] = pool.instances;
  const end = warmUp(samples, options);
  first?.finish({ ...EMPTY_RESULT, error: new InferenceError("INTERNAL", "no memory") });
  let isOver = false;
  const watched = end.catch((thrown: unknown) => {
    isOver = true;
    return thrown;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  second?.finish();
  expect(await watched).toMatchObject({
    code: "INTERNAL",
    message: "model_warmup sample 'w' of model 'm' failed: no memory",
  });
});
