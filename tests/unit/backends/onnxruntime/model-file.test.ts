import { expect, test } from "bun:test";
import { modelFilePath } from "../../../../src/backends/onnxruntime/model-file.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

test("the file is model.onnx, or what the configuration names", () => {
  using folder = new TemporaryFolder();
  const model = folder.file("1/model.onnx");
  const weights = folder.file("1/weights.onnx");
  expect(modelFilePath("m", `${folder.path}/1`, "")).toBe(model);
  expect(modelFilePath("m", `${folder.path}/1`, "weights.onnx")).toBe(weights);
});

test("a directory of that name has the file and its external data inside", () => {
  using folder = new TemporaryFolder();
  const model = folder.file("1/model.onnx/model.onnx");
  expect(modelFilePath("m", `${folder.path}/1`, "")).toBe(model);
});

test.each(["", "none.onnx"])("a missing file '%s' is named with its path", (name) => {
  using folder = new TemporaryFolder();
  expect(() => modelFilePath("m", folder.path, name)).toThrow(
    `unable to find '${folder.path}/${name || "model.onnx"}' for model 'm'`,
  );
});
