import { expect, test } from "bun:test";
import { loadEnsemble } from "../../../../src/core/model/load-ensemble.ts";
import { fingerprintOfModel, readModelSource } from "../../../../src/core/model/model-source.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { type SampleTensor, sampleConfig } from "../../../support/sample-config.ts";
import { StubModel } from "../../../support/stub-model.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

/** A model for steps that counts who holds it. */
class StepStub extends StubModel {
  holdCount = 0;

  constructor(isDecoupled: boolean, labels?: readonly string[]) {
    super("a", 1);
    const tensor: SampleTensor = { name: "X", datatype: "FP32", dims: [2] };
    const output = { ...tensor, name: "Y", ...(labels !== undefined && { labels }) };
    const config = sampleConfig({ name: "a", inputs: [tensor], outputs: [output] });
    Object.assign(this, { config: { ...config, isDecoupled } });
  }

  hold(): () => void {
    this.holdCount++;
    return () => {
      this.holdCount--;
    };
  }
}

async function load(folder: TemporaryFolder, models: { now: StepStub | undefined }, output = "") {
  const modelDirectory = folder.file("e/1/empty", "").replace("/1/empty", "");
  folder.file(
    "e/config.pbtxt",
    'platform: "ensemble" input { name: "IN" data_type: TYPE_FP32 dims: 2 } ' +
      `output { name: "OUT" data_type: TYPE_FP32 dims: 2 ${output} } ` +
      'ensemble_scheduling { step { model_name: "a" model_version: -1 ' +
      'input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } }',
  );
  const logger = new RecordingLogger();
  const source = await readModelSource(
    {
      modelName: "e",
      modelDirectory,
      fingerprint: await fingerprintOfModel(modelDirectory),
      configJson: undefined,
      override: undefined,
    },
    { configName: "", isAutoCompleteOn: true, logger },
  );
  return loadEnsemble(source, 1, {
    clock: new ManualClock(),
    logger,
    models: { find: () => models.now, isAvailable: () => true, versionStates: () => [] },
  });
}

test("an ensemble holds its steps' models until it is freed", async () => {
  using folder = new TemporaryFolder();
  const step = new StepStub(false);
  const model = await load(folder, { now: step });
  expect([step.holdCount, model.config.isDecoupled]).toEqual([1, false]);
  await model.dispose();
  expect(step.holdCount).toBe(0);
});

test("a load that fails holds nothing", async () => {
  using folder = new TemporaryFolder();
  const step = new StepStub(false);
  await expect(load(folder, { now: step }, "reshape { shape: [ 3 ] }")).rejects.toThrow("OUT");
  await expect(load(folder, { now: undefined })).rejects.toThrow("'a' which has no loaded version");
  expect(step.holdCount).toBe(0);
});

test("an ensemble is stale once another model stands in a step's place", async () => {
  using folder = new TemporaryFolder();
  const models: { now: StepStub | undefined } = { now: new StepStub(false) };
  const model = await load(folder, models);
  expect(model.isStale).toBe(false);
  models.now = new StepStub(false);
  expect(model.isStale).toBe(true);
});

test("an ensemble is as healthy as its steps", async () => {
  using folder = new TemporaryFolder();
  const step = new StepStub(false);
  const model = await load(folder, { now: step });
  expect([model.isHealthy, await model.checkReady()]).toEqual([true, true]);
  step.isHealthy = false;
  expect([model.isHealthy, await model.checkReady()]).toEqual([false, false]);
});

test("a decoupled step makes the ensemble decoupled", async () => {
  using folder = new TemporaryFolder();
  const model = await load(folder, { now: new StepStub(true) });
  expect([
    model.config.isDecoupled,
    model.config.message.modelTransactionPolicy?.decoupled,
  ]).toEqual([true, true]);
});

test("an output has the labels of the step's output, unless it has its own", async () => {
  using folder = new TemporaryFolder();
  const step = new StepStub(false, ["cat", "dog"]);
  expect((await load(folder, { now: step })).config.outputs[0]?.labels).toEqual(["cat", "dog"]);
  folder.file("e/own.txt", "one\ntwo\n");
  const own = await load(folder, { now: step }, 'label_filename: "own.txt"');
  expect(own.config.outputs[0]?.labels).toEqual(["one", "two"]);
});

test("a stop lets the sequences of steps come to their end, where there are any", async () => {
  using folder = new TemporaryFolder();
  const step = new StepStub(false);
  expect((await load(folder, { now: step })).scheduler.finishSequences).toBeUndefined();
  const over = Promise.withResolvers<void>();
  Object.assign(step, { finishSequences: () => over.promise });
  const end = (await load(folder, { now: step })).scheduler.finishSequences?.();
  expect(await Promise.race([end, Promise.resolve("waits")])).toBe("waits");
  over.resolve();
  expect(await end).toBeUndefined();
});
