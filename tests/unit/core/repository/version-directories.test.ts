import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import {
  versionDirectories,
  versionFromDirectoryName,
} from "../../../../src/core/repository/version-directories.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

test("versions come in order of their number and everything else is left out", () => {
  using folder = new TemporaryFolder();
  for (const name of [
    "10",
    "2",
    "0",
    "model",
    ".ipynb_checkpoints",
    "01",
    "1_backup",
    "1abc",
    "-3",
  ]) {
    folder.directory(name);
  }
  for (const name of ["configs", "warmup", "initial_state"]) folder.directory(name);
  folder.file("5");
  const logger = new RecordingLogger();

  const versions = versionDirectories(folder.path, logger);

  expect(versions).toEqual([
    { version: 0, directory: join(folder.path, "0") },
    { version: 2, directory: join(folder.path, "2") },
    { version: 10, directory: join(folder.path, "10") },
  ]);
  const warned = logger.records.map((r) => String(r.fields["directory"]).split("/").at(-1)).sort();
  expect(warned).toEqual(["-3", ".ipynb_checkpoints", "01", "1_backup", "1abc", "model"]);
});

test("a link to a directory is a version", () => {
  using folder = new TemporaryFolder();
  symlinkSync(folder.directory("store"), join(folder.path, "3"));
  const versions = versionDirectories(folder.path, new RecordingLogger());
  expect(versions.map((v) => v.version)).toEqual([3]);
});

test.each([
  ["1", 1],
  ["0", 0],
  ["123456789012", 123456789012],
  ["99999999999999999999", undefined],
  ["00", undefined],
  ["+1", undefined],
  ["1.0", undefined],
  ["", undefined],
] as const)("the directory name %j stands for version %p", (name, version) => {
  expect(versionFromDirectoryName(name)).toBe(version);
});
