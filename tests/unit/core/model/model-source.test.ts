import { expect, test } from "bun:test";
import { join } from "node:path";
import { InferenceError } from "../../../../src/base/error.ts";
import {
  fingerprintOfModel,
  type ModelSource,
  readModelSource,
} from "../../../../src/core/model/model-source.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

const BACKEND = 'backend: "onnxruntime"\n';

async function read(
  folder: TemporaryFolder,
  options: { isAutoCompleteOn?: boolean; configJson?: string; logger?: RecordingLogger } = {},
): Promise<ModelSource> {
  const modelDirectory = join(folder.path, "m");
  return readModelSource(
    {
      modelName: "m",
      modelDirectory,
      fingerprint: await fingerprintOfModel(modelDirectory),
      configJson: options.configJson,
      override: undefined,
    },
    {
      configName: "",
      isAutoCompleteOn: options.isAutoCompleteOn ?? true,
      logger: options.logger ?? new RecordingLogger(),
    },
  );
}

function model(config: string, ...versions: number[]): TemporaryFolder {
  const folder = new TemporaryFolder();
  folder.file("m/config.pbtxt", BACKEND + config);
  for (const version of versions) folder.file(`m/${version}/model.onnx`);
  return folder;
}

test("the versions are those on disk that the policy selects", async () => {
  using folder = model("version_policy { specific { versions: [ 1, 5 ] } }", 1, 2);
  const logger = new RecordingLogger();
  const source = await read(folder, { logger });
  expect([source.versions, [...source.versionsOnDisk]]).toEqual([[1], [1, 2]]);
  expect(logger.messages("warning")).toEqual(["version 5 of model 'm' is not on disk"]);
  expect(source.versionDirectory(1)).toBe(join(folder.path, "m", "1"));
});

test("a given configuration takes the place of the file", async () => {
  using folder = model("max_batch_size: 8", 1);
  const source = await read(folder, { configJson: '{"backend":"onnxruntime","max_batch_size":4}' });
  expect(source.config.message.maxBatchSize).toBe(4);
});

test.each([
  ["nonsense", "config.pbtxt"],
  ['platform: "zzz"', "unexpected 'platform' and 'backend' pair"],
  ['name: "other"', "unexpected directory name 'm' for model 'other'"],
])("a configuration that makes no sense is refused: %s", async (config, text) => {
  using folder = model(config, 1);
  const error = await read(folder).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InferenceError);
  expect((error as InferenceError).message).toContain(text);
});

test("tensors are checked before a load only where nothing completes them", async () => {
  using folder = model('input { name: "X" dims: 1 }', 1);
  expect((await read(folder)).versions).toEqual([1]);
  const error = await read(folder, { isAutoCompleteOn: false }).catch((thrown: unknown) => thrown);
  expect((error as InferenceError).message).toContain("must specify 'data_type'");
});

test("a version is the same until its files, shared files or the configuration change", async () => {
  using folder = model("version_policy { all { } }", 1, 2);
  folder.file("m/labels.txt");
  const before = await read(folder);
  expect((await read(folder)).isSameVersionAs(before, 1)).toBe(true);

  folder.file("m/config.pbtxt", `${BACKEND}version_policy { latest { num_versions: 1 } }`);
  expect((await read(folder)).isSameVersionAs(before, 1)).toBe(true);

  folder.touch("m/2/model.onnx");
  expect((await read(folder)).isSameVersionAs(before, 1)).toBe(true);
  expect((await read(folder)).isSameVersionAs(before, 2)).toBe(false);

  folder.file("m/config.pbtxt", `${BACKEND}max_batch_size: 2`);
  expect((await read(folder)).isSameVersionAs(before, 1)).toBe(false);
  folder.file("m/config.pbtxt", `${BACKEND}version_policy { all { } }`);
  expect((await read(folder)).isSameVersionAs(before, 1)).toBe(true);

  folder.touch("m/labels.txt");
  expect((await read(folder)).isSameVersionAs(before, 1)).toBe(false);
});

test("a directory that cannot be read is refused by name", async () => {
  const error = await fingerprintOfModel("/nowhere/m").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InferenceError);
  expect((error as InferenceError).message).toContain("cannot read /nowhere/m");
});
