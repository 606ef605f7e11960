import { describe, expect, test } from "bun:test";
import { executionProvidersFor } from "../../../../src/backends/onnxruntime/execution-providers.ts";
import type { Device } from "../../../../src/core/backend/backend.ts";
import { configMessage, parameters } from "../../../support/onnx-config.ts";

const CPU: Device = { kind: "CPU", id: -1 };
const GPU: Device = { kind: "GPU", id: 1 };

function accelerated(side: "cpu" | "gpu", name: string, settings: Record<string, string> = {}) {
  const accelerator = { name, parameters: settings };
  return configMessage({
    optimization: { execution_accelerators: { [`${side}_execution_accelerator`]: [accelerator] } },
  });
}

test("a CPU needs no provider of its own", () => {
  expect(executionProvidersFor(configMessage(), CPU)).toEqual([]);
  expect(executionProvidersFor(accelerated("gpu", "tensorrt"), CPU)).toEqual([]);
});

test("OpenVINO is for CPUs, with all its parameters", () => {
  const [provider] = executionProvidersFor(accelerated("cpu", "openvino", { a: "b" }), CPU);
  expect(provider).toEqual({ name: "OpenVINO", options: { a: "b" }, askedBy: "cpu accelerator" });
});

describe("a GPU", () => {
  test("takes CUDA on the instance's device", () => {
    expect(executionProvidersFor(configMessage(), GPU)).toEqual([
      { name: "CUDA", options: { device_id: "1" }, askedBy: "KIND_GPU" },
    ]);
  });

  test("takes the older CUDA parameters, numbers as words", () => {
    const config = configMessage(
      parameters({
        cudnn_conv_algo_search: "1",
        gpu_mem_limit: "1000",
        arena_extend_strategy: "1",
      }),
    );
    expect(executionProvidersFor(config, GPU)[0]?.options).toEqual({
      device_id: "1",
      cudnn_conv_algo_search: "HEURISTIC",
      gpu_mem_limit: "1000",
      arena_extend_strategy: "kSameAsRequested",
    });
  });

  test("takes the parameters of a cuda accelerator, once", () => {
    const config = accelerated("gpu", "cuda", { cudnn_conv_use_max_workspace: "0" });
    expect(executionProvidersFor(config, GPU)).toEqual([
      {
        name: "CUDA",
        options: { device_id: "1", cudnn_conv_use_max_workspace: "0" },
        askedBy: "gpu accelerator",
      },
    ]);
  });

  test("puts TensorRT before CUDA, with Triton's names for its settings", () => {
    const config = accelerated("gpu", "tensorrt", {
      precision_mode: "FP16",
      max_workspace_size_bytes: "1000",
      trt_engine_cache_enable: "1",
    });
    const [first, second] = executionProvidersFor(config, GPU);
    expect([first?.name, second?.name]).toEqual(["TensorRT", "CUDA"]);
    expect(first?.options).toEqual({
      device_id: "1",
      trt_fp16_enable: "1",
      trt_max_workspace_size: "1000",
      trt_engine_cache_enable: "1",
    });
  });

  test("gives TensorRT 1 GiB of workspace where nothing is said, and FP32 needs no switch", () => {
    const config = accelerated("gpu", "tensorrt", { precision_mode: "FP32" });
    expect(executionProvidersFor(config, GPU)[0]?.options).toEqual({
      device_id: "1",
      trt_max_workspace_size: "1073741824",
    });
  });

  test.each([
    ["precision_mode", "FP99"],
    ["speed", "fast"],
  ])("refuses the TensorRT parameter %s = %s", (key, value) => {
    expect(() =>
      executionProvidersFor(accelerated("gpu", "tensorrt", { [key]: value }), GPU),
    ).toThrow(
      `unsupported parameter '${key}' with value '${value}' is provided for TensorRT Execution Accelerator`,
    );
  });
});

test.each([
  ["cpu", "tensorrt", CPU],
  ["gpu", "openvino", GPU],
  ["gpu", "magic", GPU],
] as const)("a %s accelerator '%s' is unknown", (side, name, device) => {
  expect(() => executionProvidersFor(accelerated(side, name), device)).toThrow(
    `unknown Execution Accelerator '${name}' is requested for model 'm'`,
  );
});
