import { expect, test } from "bun:test";
import { NativeError } from "#ffi/native-error.ts";

test("a native error says library, function, status and the library's words", () => {
  const error = new NativeError({
    library: "onnxruntime",
    functionName: "CreateSession",
    status: 3,
    text: "Load model from /m.onnx failed: File doesn't exist",
  });
  expect(error.message).toBe(
    "onnxruntime CreateSession failed (3): Load model from /m.onnx failed: File doesn't exist",
  );
  expect(error.text).toBe("Load model from /m.onnx failed: File doesn't exist");
});
