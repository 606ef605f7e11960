import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { ModelRepository } from "../../../../src/core/repository/model-repository.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

test("each directory is a model and files are not", () => {
  using folder = new TemporaryFolder();
  folder.directory("zebra/1");
  folder.directory("model with space");
  folder.directory(".git");
  folder.file("README.md");
  symlinkSync(join(folder.path, "zebra"), join(folder.path, "linked"));
  const names = new ModelRepository([folder.path]).list().map((entry) => entry.name);
  expect(names).toEqual(["linked", "model with space", "zebra"]);
});

test("a name in two repositories has two directories", () => {
  using left = new TemporaryFolder();
  using right = new TemporaryFolder();
  left.directory("both");
  right.directory("both");
  right.directory("only_right");
  const repository = new ModelRepository([left.path, right.path]);
  expect(repository.list()).toEqual([
    { name: "both", directories: [join(left.path, "both"), join(right.path, "both")] },
    { name: "only_right", directories: [join(right.path, "only_right")] },
  ]);
  expect(repository.find("only_right")).toEqual([join(right.path, "only_right")]);
  expect(repository.find("absent")).toEqual([]);
});

test("a repository given twice counts once", () => {
  using folder = new TemporaryFolder();
  folder.directory("m");
  const repository = new ModelRepository([folder.path, `${folder.path}/`]);
  expect(repository.list()[0]?.directories).toHaveLength(1);
});

test("a directory added later is seen", () => {
  using folder = new TemporaryFolder();
  const repository = new ModelRepository([folder.path]);
  expect(repository.list()).toEqual([]);
  folder.directory("late");
  expect(repository.list().map((entry) => entry.name)).toEqual(["late"]);
});

test("a path that is no directory is refused by name", () => {
  using folder = new TemporaryFolder();
  expect(() => new ModelRepository([folder.path]).checkPaths()).not.toThrow();
  const nowhere = join(folder.path, "nowhere");
  expect(() => new ModelRepository([folder.path, nowhere]).checkPaths()).toThrow(nowhere);
  expect(() => new ModelRepository([folder.file("file")]).checkPaths()).toThrow("no directory");
  expect(new ModelRepository([nowhere]).list()).toEqual([]);
});
