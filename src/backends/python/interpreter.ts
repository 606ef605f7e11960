import { existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { InferenceError } from "../../base/error.ts";
import type { OpenModelOptions } from "../../core/backend/backend.ts";
import type { PythonInterpreter } from "../../core/backend/python-interpreter.ts";
import { configFromBytes } from "../../core/config/config-bytes.ts";

/**
 * The Python of a model: that of its `EXECUTION_ENV_PATH` where the configuration names one, else `python3` on PATH.
 *
 * @throws InferenceError INVALID_ARG when the named environment has no interpreter.
 */
export function interpreterOf(options: OpenModelOptions): PythonInterpreter {
  const { parameters } = configFromBytes(options.config);
  const named = parameters["EXECUTION_ENV_PATH"]?.stringValue;
  if (named === undefined || named === "") return { python: "python3", environment: process.env };
  const path = named.replaceAll("$$TRITON_MODEL_DIRECTORY", options.modelDirectory);
  if (!existsSync(path)) {
    throw new InferenceError("INVALID_ARG", `EXECUTION_ENV_PATH '${path}' does not exist`);
  }
  if (!statSync(path).isDirectory()) {
    throw new InferenceError(
      "UNSUPPORTED",
      `EXECUTION_ENV_PATH '${path}' is not a folder: unpack the archive and name the folder`,
    );
  }
  const bin = join(path, "bin");
  const python = join(bin, "python3");
  if (!existsSync(python)) {
    throw new InferenceError("INVALID_ARG", `EXECUTION_ENV_PATH '${path}' has no bin/python3`);
  }
  const environment = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
    VIRTUAL_ENV: path,
  };
  return { python, environment };
}
