import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { InferenceError } from "../../../../src/base/error.ts";
import { OverrideDirectory } from "../../../../src/core/repository/override-directory.ts";

const CONTENT = new TextEncoder().encode("content");

test("the given files stand in a folder named like the model until the last holder lets go", async () => {
  const files = new Map([
    ["1/model.onnx", CONTENT],
    ["labels.txt", CONTENT],
  ]);
  const directory = await OverrideDirectory.create("m", files);
  expect(basename(directory.modelDirectory)).toBe("m");
  expect(readFileSync(join(directory.modelDirectory, "1/model.onnx"), "utf8")).toBe("content");
  directory.retain();
  await directory.release();
  expect(existsSync(directory.modelDirectory)).toBe(true);
  await directory.release();
  expect(existsSync(dirname(directory.modelDirectory))).toBe(false);
});

test.each(["../evil", "1/../../evil", "/tmp/evil", "..", ".", "", "a\0b"])(
  "a path that leaves the model directory is refused: %j",
  async (path) => {
    const refused = await OverrideDirectory.create("m", new Map([[path, CONTENT]])).catch((e) => e);
    expect(refused).toBeInstanceOf(InferenceError);
    expect(refused.code).toBe("INVALID_ARG");
    expect(refused.message).toContain("must stay within model directory.");
  },
);

test("a file that is also a folder is refused, naming it", async () => {
  const files = new Map([
    ["1", CONTENT],
    ["1/model.onnx", CONTENT],
  ]);
  const refused = await OverrideDirectory.create("m", files).catch((e) => e);
  expect(refused).toBeInstanceOf(InferenceError);
  expect(refused.message).toContain("'1/model.onnx'");
});
