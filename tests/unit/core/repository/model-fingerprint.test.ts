import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fingerprintOf } from "../../../../src/core/repository/model-fingerprint.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

function model(): TemporaryFolder {
  const folder = new TemporaryFolder();
  folder.file("config.pbtxt", "x");
  folder.file("labels.txt", "a");
  folder.file("1/model.onnx", "one");
  return folder;
}

test("an untouched directory looks the same twice", async () => {
  using folder = model();
  expect(await fingerprintOf(folder.path)).toEqual(await fingerprintOf(folder.path));
});

test("a new version changes neither the other versions nor the rest", async () => {
  using folder = model();
  const before = await fingerprintOf(folder.path);
  folder.file("2/model.onnx", "two");
  const after = await fingerprintOf(folder.path);
  expect(after.versions.get(1)).toBe(before.versions.get(1) ?? "");
  expect([after.config, after.other]).toEqual([before.config, before.other]);
  expect([...after.versions.keys()]).toEqual([1, 2]);
});

test.each([
  ["config.pbtxt", "config"],
  ["configs/special.pbtxt", "config"],
  ["labels.txt", "other"],
] as const)("a change of %s shows in %s alone", async (path, part) => {
  using folder = model();
  folder.file("configs/special.pbtxt");
  const before = await fingerprintOf(folder.path);
  folder.touch(path);
  const after = await fingerprintOf(folder.path);
  expect(after[part]).not.toBe(before[part]);
  expect({ ...after, [part]: "" }).toEqual({ ...before, [part]: "" });
});

test("a change deep inside a version shows in that version", async () => {
  using folder = model();
  folder.file("1/model.savedmodel/variables/a", "1");
  const before = await fingerprintOf(folder.path);
  folder.touch("1/model.savedmodel/variables/a");
  const after = await fingerprintOf(folder.path);
  expect(after.versions.get(1)).not.toBe(before.versions.get(1));
});

test("a file of equal time but another size is a change", async () => {
  using folder = model();
  folder.touch("1/model.onnx");
  const before = await fingerprintOf(folder.path);
  folder.file("1/model.onnx", "longer than before");
  const after = await fingerprintOf(folder.path);
  expect(after.versions.get(1)).not.toBe(before.versions.get(1));
});

test("what tools leave behind is no change", async () => {
  using folder = model();
  const before = await fingerprintOf(folder.path);
  folder.file(".ipynb_checkpoints/x", "y");
  folder.file("__pycache__/x.pyc", "y");
  expect(await fingerprintOf(folder.path)).toEqual(before);
});

test("links that form a loop end the walk", async () => {
  using folder = model();
  symlinkSync(join(folder.path, "1"), join(folder.path, "1", "again"));
  expect((await fingerprintOf(folder.path)).versions.size).toBe(1);
});
