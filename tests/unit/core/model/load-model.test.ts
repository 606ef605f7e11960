import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { InferenceError } from "../../../../src/base/error.ts";
import { configFromBytes } from "../../../../src/core/config/config-bytes.ts";
import { type LoadModelContext, loadModel } from "../../../../src/core/model/load-model.ts";
import {
  fingerprintOfModel,
  type ModelSource,
  readModelSource,
} from "../../../../src/core/model/model-source.ts";
import { OverrideDirectory } from "../../../../src/core/repository/override-directory.ts";
import { FakeInstanceHosts, SAMPLE_REPORT } from "../../../support/fake-instance-hosts.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

const NO_SETTINGS = { configName: "", isAutoCompleteOn: true, logger: new RecordingLogger() };

async function sourceOf(
  folder: TemporaryFolder,
  config = "",
  override?: OverrideDirectory,
): Promise<ModelSource> {
  folder.file("m/1/model.onnx", "graph");
  folder.file("m/config.pbtxt", config);
  const modelDirectory = override?.modelDirectory ?? join(folder.path, "m");
  const fingerprint = await fingerprintOfModel(modelDirectory);
  const configJson = override === undefined ? undefined : '{"backend":"onnxruntime"}';
  return readModelSource(
    { modelName: "m", modelDirectory, fingerprint, configJson, override },
    NO_SETTINGS,
  );
}

function contextOf(
  hosts: FakeInstanceHosts,
  change: Partial<LoadModelContext> = {},
): LoadModelContext {
  return {
    hosts,
    clock: new ManualClock(),
    logger: new RecordingLogger(),
    isAutoCompleteOn: true,
    backendConfig: new Map(),
    libraryPaths: {},
    gpuCount: 0,
    ...change,
  };
}

async function refusal(load: Promise<unknown>): Promise<InferenceError> {
  try {
    await load;
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
  throw new Error("the load did not fail");
}

describe("a load", () => {
  test("opens the version, completes the configuration from its report and starts instances", async () => {
    using folder = new TemporaryFolder();
    const hosts = new FakeInstanceHosts();
    const backendConfig = new Map([
      ["", { "default-max-batch-size": "6", a: "global" }],
      ["onnxruntime", { a: "own" }],
    ]);
    const context = contextOf(hosts, { backendConfig, libraryPaths: { onnxruntime: "/lib" } });
    const model = await loadModel(await sourceOf(folder), 1, context);
    const [opening] = hosts.openings;
    expect([opening?.backend, opening?.home]).toEqual(["onnxruntime", "thread"]);
    expect(opening?.options).toMatchObject({
      modelName: "m",
      modelVersion: "1",
      modelDirectory: join(folder.path, "m"),
      versionDirectory: join(folder.path, "m", "1"),
      device: { kind: "CPU", id: -1 },
      backendConfig: { "default-max-batch-size": "6", a: "own" },
      libraryPaths: { onnxruntime: "/lib" },
    });
    expect([model.name, model.versionText, model.config.maxBatchSize]).toEqual(["m", "1", 6]);
    expect(model.config.inputs.map(({ name, dims }) => [name, dims])).toEqual([["INPUT0", [4]]]);
    expect(model.executionSignature.inputs[0]?.shape).toEqual([-1, 4]);
    expect(model.config.message.schedulingChoice.case).toBe("dynamicBatching");
    await model.dispose();
    expect([hosts.openedCount, hosts.poolCount]).toEqual([0, 0]);
  });

  test("hands the backend a normalised configuration and leaves the source as it was", async () => {
    using folder = new TemporaryFolder();
    const hosts = new FakeInstanceHosts();
    const source = await sourceOf(folder);
    await loadModel(source, 1, contextOf(hosts));
    const sent = configFromBytes(hosts.openings[0]?.options.config ?? new Uint8Array());
    expect([sent.name, sent.backend, sent.instanceGroup.map(({ count }) => count)]).toEqual([
      "m",
      "onnxruntime",
      [2],
    ]);
    expect([source.config.message.input.length, source.config.message.maxBatchSize]).toEqual([
      0, 0,
    ]);
  });

  test("puts the instances where the parameter isolation says", async () => {
    using folder = new TemporaryFolder();
    const hosts = new FakeInstanceHosts();
    const config = (home: string) =>
      `parameters { key: "isolation" value { string_value: "${home}" } }`;
    await loadModel(await sourceOf(folder, config("process")), 1, contextOf(hosts));
    expect(hosts.openings[0]?.home).toBe("process");
    const error = await refusal(
      loadModel(await sourceOf(folder, config("nowhere")), 1, contextOf(hosts)),
    );
    expect(error.message).toContain("must be 'thread' or 'process', got 'nowhere'");
  });

  test("leaves the configuration alone where completion is off", async () => {
    using folder = new TemporaryFolder();
    const hosts = new FakeInstanceHosts();
    const model = await loadModel(
      await sourceOf(folder, 'backend: "onnxruntime" max_batch_size: 8'),
      1,
      contextOf(hosts, { isAutoCompleteOn: false }),
    );
    expect([model.config.inputs, model.config.message.schedulingChoice.case]).toEqual([
      [],
      undefined,
    ]);
  });
});

describe("a load that fails", () => {
  const cases: readonly [string, string, string][] = [
    ["for want of the backend", 'backend: "nonesuch"', "unable to find backend library"],
    [
      "for a feature that is not served",
      "batch_input { } max_batch_size: 4",
      "asks for batch_input, which this server does not serve yet",
    ],
    [
      "for a GPU that is not there",
      "instance_group { kind: KIND_GPU }",
      "instance group m_0 of model m has kind KIND_GPU but no GPUs are available",
    ],
    [
      "for tensors that make no sense",
      'input { name: "INPUT0" data_type: TYPE_FP32 dims: 0 }',
      "dimension must be integer >= 1",
    ],
    [
      "for a label file that is missing",
      'max_batch_size: 4 output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 label_filename: "no.txt" }',
      "no.txt",
    ],
  ];

  test.each(cases)("%s frees what it had", async (_, config, text) => {
    using folder = new TemporaryFolder();
    const hosts = new FakeInstanceHosts();
    const error = await refusal(loadModel(await sourceOf(folder, config), 1, contextOf(hosts)));
    expect(error.message).toContain(text);
    expect([hosts.openedCount, hosts.poolCount]).toEqual([0, 0]);
  });

  test("when instances do not start frees what it had", async () => {
    using folder = new TemporaryFolder();
    const hosts = new FakeInstanceHosts();
    hosts.poolError = new InferenceError("INVALID_ARG", "out of devices");
    const error = await refusal(loadModel(await sourceOf(folder), 1, contextOf(hosts)));
    expect(error.message).toBe("out of devices");
    expect([hosts.openedCount, hosts.poolCount]).toEqual([0, 0]);
  });

  test("lets go of files that came with the request", async () => {
    using folder = new TemporaryFolder();
    const override = await OverrideDirectory.create(
      "m",
      new Map([["1/model.onnx", new Uint8Array()]]),
    );
    const source = await sourceOf(folder, "", override);
    const hosts = new FakeInstanceHosts();
    const model = await loadModel(source, 1, contextOf(hosts));
    hosts.poolError = new InferenceError("INVALID_ARG", "out of devices");
    await refusal(loadModel(source, 1, contextOf(hosts)));
    await override.release();
    expect(existsSync(override.modelDirectory)).toBe(true);
    await model.dispose();
    expect(existsSync(override.modelDirectory)).toBe(false);
  });
});

test("a scalar of the model file may be declared by an empty reshape", async () => {
  using folder = new TemporaryFolder();
  const hosts = new FakeInstanceHosts();
  const scalar = (kind: "inputs" | "outputs") =>
    SAMPLE_REPORT[kind].map((tensor) => ({ ...tensor, shape: [] }));
  hosts.report = () => ({ inputs: scalar("inputs"), outputs: scalar("outputs") });
  const tensor = "data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }";
  const config = `input { name: "INPUT0" ${tensor} output { name: "OUTPUT0" ${tensor}`;
  const model = await loadModel(await sourceOf(folder, config), 1, contextOf(hosts));
  expect(model.executionSignature.inputs[0]?.shape).toEqual([]);
});
