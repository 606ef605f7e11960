import { describe, expect, test } from "bun:test";
import { platformsOf } from "../../../../src/core/config/backend-names.ts";

describe("platformsOf", () => {
  test("lists the platforms of the backends that Triton knows", () => {
    expect(platformsOf("onnxruntime")).toEqual(["onnxruntime_onnx"]);
    expect(platformsOf("pytorch")).toEqual(["pytorch_libtorch", "torch_aoti"]);
  });

  test("knows nothing of others", () => {
    expect(platformsOf("python")).toBeUndefined();
    expect(platformsOf("my_own")).toBeUndefined();
  });
});
