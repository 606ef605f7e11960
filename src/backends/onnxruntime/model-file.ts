import { statSync } from "node:fs";
import { join } from "node:path";
import { InferenceError } from "../../base/error.ts";

const DEFAULT_FILE_NAME = "model.onnx";

/**
 * The ONNX file of a version: a file, or a directory of that name with `model.onnx` and its external data inside.
 *
 * @param defaultModelFilename of the configuration, relative to the version's directory; "" = `model.onnx`.
 * @throws InferenceError UNAVAILABLE naming the path that should be there.
 * @see onnxruntime_backend README, "model.onnx file or directory".
 */
export function modelFilePath(
  modelName: string,
  versionDirectory: string,
  defaultModelFilename: string,
): string {
  const path = join(versionDirectory, defaultModelFilename || DEFAULT_FILE_NAME);
  const status = statSync(path, { throwIfNoEntry: false });
  const file = status?.isDirectory() ? join(path, DEFAULT_FILE_NAME) : path;
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
  throw new InferenceError("UNAVAILABLE", `unable to find '${file}' for model '${modelName}'`);
}
