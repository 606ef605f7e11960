import { NativeError } from "#ffi/native-error.ts";
import { InferenceError } from "../../base/error.ts";

/**
 * onnxruntime's refusal as an error of ours, in the form in which Triton shows it: `onnx runtime error 7: Load model
 * from /m/1/model.onnx failed: …`. What is no native error passes unchanged.
 */
export function inferenceErrorFromNative(thrown: unknown): unknown {
  if (!(thrown instanceof NativeError)) return thrown;
  const text = `onnx runtime error ${thrown.status}: ${thrown.text.trim()}`;
  return new InferenceError("INTERNAL", text, { cause: thrown, reason: "BACKEND" });
}
