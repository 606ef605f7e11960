import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { detectBackend } from "../../../../src/core/config/detect-backend.ts";
import { configMessage, refusalOfPromise } from "../../../support/config-texts.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

let model: TemporaryFolder;
beforeEach(() => {
  model = new TemporaryFolder();
});
afterEach(() => model.dispose());

/** `backend/platform/filename` after detection. */
async function detected(text: string, modelName = "m"): Promise<string> {
  const message = configMessage(text);
  await detectBackend(message, modelName, model.path);
  return `${message.backend}/${message.platform}/${message.defaultModelFilename}`;
}

describe("detectBackend", () => {
  test.each([
    ["1/model.onnx", "onnxruntime/onnxruntime_onnx/model.onnx"],
    ["1/model.onnx/model.onnx", "onnxruntime/onnxruntime_onnx/model.onnx"],
    ["1/model.plan", "tensorrt/tensorrt_plan/model.plan"],
    ["1/model.savedmodel/saved_model.pb", "tensorflow/tensorflow_savedmodel/model.savedmodel"],
    ["1/model.graphdef", "tensorflow/tensorflow_graphdef/model.graphdef"],
    ["1/model.xml", "openvino//model.xml"],
    ["1/model.pt", "pytorch/pytorch_libtorch/model.pt"],
    ["1/model.pt2", "pytorch/torch_aoti/model.pt2"],
    ["1/model.py", "python//model.py"],
  ])("tells the backend from %s", async (file, expected) => {
    model.file(file);
    expect(await detected("")).toBe(expected);
  });

  test.each([
    ['platform: "onnxruntime_onnx"', "onnxruntime/onnxruntime_onnx/model.onnx"],
    ['backend: "onnxruntime"', "onnxruntime/onnxruntime_onnx/model.onnx"],
    [
      'backend: "onnxruntime" default_model_filename: "w.onnx"',
      "onnxruntime/onnxruntime_onnx/w.onnx",
    ],
    ['default_model_filename: "model.plan"', "tensorrt/tensorrt_plan/model.plan"],
    ['platform: "libtorch"', "pytorch/pytorch_libtorch/model.pt"],
    ['platform: "torch_aoti"', "pytorch/torch_aoti/model.pt2"],
    ['backend: "python"', "python//model.py"],
    ['backend: "identity"', "identity//"],
    ['platform: "zzz" backend: "onnxruntime"', "onnxruntime/zzz/"],
    ['platform: "zzz"', "/zzz/"],
    ['platform: "ensemble"', "/ensemble/"],
  ])("fills in from %s without looking at files", async (text, expected) => {
    expect(await detected(text)).toBe(expected);
  });

  test("lets the file decide between two forms of one backend", async () => {
    model.file("1/model.pt2");
    expect(await detected('backend: "pytorch"')).toBe("pytorch/torch_aoti/model.pt2");
  });

  test("looks into the version that comes first in lexical order, and into nothing else", async () => {
    model.file(".ipynb_checkpoints/model.py");
    model.file("configs/model.py");
    model.file("0");
    model.file("10/model.onnx");
    model.file("2/model.py");
    expect(await detected("")).toStartWith("onnxruntime/");
  });

  test("takes the backend from a name of the form model.backend at last", async () => {
    model.directory("1");
    expect(await detected("", "my.identity")).toBe("identity//model.identity");
    expect(await detected("", "a.b.c")).toBe("b.c//model.b.c");
  });

  test.each(["unknown", "ends_with."])("refuses %s when nothing tells", async (name) => {
    model.file("1/readme");
    expect(await refusalOfPromise(detected("", name))).toBe(
      `Invalid model name: Could not determine backend for model '${name}' with no backend in model ` +
        "configuration. Expected model name of the form 'model.<backend_name>'.",
    );
  });

  test("is content with a model directory that is gone", async () => {
    model.dispose();
    expect(await refusalOfPromise(detected(""))).toContain("Could not determine backend");
  });
});
