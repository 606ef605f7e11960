import type { ProviderOptions } from "#ffi/onnxruntime/session-options.ts";
import type {
  ModelOptimizationPolicy_ExecutionAccelerators_Accelerator as Accelerator,
  ModelConfig,
} from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { Device } from "../../core/backend/backend.ts";

/** An execution provider to put before the CPU's. Plain data. */
export interface ProviderChoice {
  /** onnxruntime's short name. */
  readonly name: "CUDA" | "TensorRT" | "OpenVINO";
  readonly options: ProviderOptions;
  /** Who asked for it, for the message when the library has none. */
  readonly askedBy: string;
}

/** Older parameters for CUDA, by the names that onnxruntime gives them today. */
const CUDA_PARAMETERS = [
  "cudnn_conv_algo_search",
  "gpu_mem_limit",
  "arena_extend_strategy",
  "do_copy_in_default_stream",
];

/** Numbers that Triton documents for parameters where onnxruntime wants words. */
const CUDA_WORDS: Readonly<Record<string, readonly string[]>> = {
  cudnn_conv_algo_search: ["EXHAUSTIVE", "HEURISTIC", "DEFAULT"],
  arena_extend_strategy: ["kNextPowerOfTwo", "kSameAsRequested"],
};

/** Triton's default for `max_workspace_size_bytes`, 1 GiB. */
const TENSORRT_WORKSPACE_BYTES = "1073741824";

/** Switch of each `precision_mode`. */
const TENSORRT_PRECISIONS: Readonly<Record<string, string | undefined>> = {
  FP16: "trt_fp16_enable",
  BF16: "trt_bf16_enable",
  INT8: "trt_int8_enable",
};

const TENSORRT_NAMES: Readonly<Record<string, string>> = {
  max_workspace_size_bytes: "trt_max_workspace_size",
  int8_calibration_table_name: "trt_int8_calibration_table_name",
  int8_use_native_calibration_table: "trt_int8_use_native_calibration_table",
};

/**
 * The providers of a session on a device, in order of preference; the CPU comes after all of them by itself.
 *
 * @throws InferenceError INVALID_ARG for accelerators and parameters that nobody knows.
 * @see Triton docs, "Optimization", "ONNX with TensorRT / OpenVINO"; onnxruntime_backend README.
 */
export function executionProvidersFor(config: ModelConfig, device: Device): ProviderChoice[] {
  const accelerators = config.optimization?.executionAccelerators;
  if (device.kind !== "GPU") {
    return (accelerators?.cpuExecutionAccelerator ?? []).map((one) => {
      if (one.name !== "openvino") return unknown(config, one);
      return { name: "OpenVINO", options: { ...one.parameters }, askedBy: "cpu accelerator" };
    });
  }
  const chosen = (accelerators?.gpuExecutionAccelerator ?? []).map((one): ProviderChoice => {
    const askedBy = "gpu accelerator";
    if (one.name === "tensorrt") {
      return { name: "TensorRT", options: tensorRtOptions(config, one, device), askedBy };
    }
    if (one.name !== "cuda") return unknown(config, one);
    const options = { ...cudaOptions(config, device), ...one.parameters };
    return { name: "CUDA", options, askedBy };
  });
  // A node that TensorRT does not take still runs on the GPU.
  if (!chosen.some(({ name }) => name === "CUDA")) {
    chosen.push({ name: "CUDA", options: cudaOptions(config, device), askedBy: "KIND_GPU" });
  }
  return chosen;
}

function unknown(config: ModelConfig, { name }: Accelerator): never {
  throw new InferenceError(
    "INVALID_ARG",
    `unknown Execution Accelerator '${name}' is requested for model '${config.name}'; known are ` +
      "tensorrt and cuda for GPUs, openvino for CPUs",
  );
}

function cudaOptions(config: ModelConfig, device: Device): ProviderOptions {
  const options: Record<string, string> = { device_id: String(device.id) };
  for (const key of CUDA_PARAMETERS) {
    const value = config.parameters[key]?.stringValue;
    if (value !== undefined) options[key] = CUDA_WORDS[key]?.[Number(value)] ?? value;
  }
  return options;
}

function tensorRtOptions(
  config: ModelConfig,
  { parameters }: Accelerator,
  device: Device,
): ProviderOptions {
  const options: Record<string, string> = {
    device_id: String(device.id),
    trt_max_workspace_size: TENSORRT_WORKSPACE_BYTES,
  };
  for (const [key, value] of Object.entries(parameters)) {
    const name = key.startsWith("trt_") ? key : TENSORRT_NAMES[key];
    if (name !== undefined) options[name] = value;
    else if (key === "precision_mode" && value === "FP32") continue;
    else if (key === "precision_mode" && TENSORRT_PRECISIONS[value] !== undefined) {
      options[TENSORRT_PRECISIONS[value]] = "1";
    } else {
      throw new InferenceError(
        "INVALID_ARG",
        `unsupported parameter '${key}' with value '${value}' is provided for TensorRT Execution Accelerator of ` +
          `model '${config.name}'; known are precision_mode (FP32, FP16, BF16, INT8), ` +
          `${Object.keys(TENSORRT_NAMES).join(", ")} and all that begin with trt_`,
      );
    }
  }
  return options;
}
