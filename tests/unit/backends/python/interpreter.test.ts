import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { interpreterOf } from "../../../../src/backends/python/interpreter.ts";
import type { OpenModelOptions } from "../../../../src/core/backend/backend.ts";
import { configToBytes } from "../../../../src/core/config/config-bytes.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

/** A model in a folder, with its `EXECUTION_ENV_PATH`. */
function modelIn(modelDirectory: string, environmentPath?: string): OpenModelOptions {
  const parameters =
    environmentPath === undefined ? {} : { EXECUTION_ENV_PATH: { stringValue: environmentPath } };
  return {
    modelName: "m",
    modelVersion: "1",
    modelDirectory,
    versionDirectory: `${modelDirectory}/1`,
    config: configToBytes(create(ModelConfigSchema, { name: "m", parameters })),
    device: { kind: "CPU", id: -1 },
    backendConfig: {},
    libraryPaths: {},
  };
}

describe("interpreterOf", () => {
  test("is python3 of the PATH where a model names no environment", () => {
    for (const path of [undefined, ""]) {
      expect(interpreterOf(modelIn("/models/m", path))).toEqual({
        python: "python3",
        environment: process.env,
      });
    }
  });

  test("is the one of a folder beside the model, whose programs come first on the PATH", () => {
    using folder = new TemporaryFolder();
    folder.file("env/bin/python3");
    const { python, environment } = interpreterOf(
      modelIn(folder.path, "$$TRITON_MODEL_DIRECTORY/env"),
    );
    expect(python).toBe(`${folder.path}/env/bin/python3`);
    expect(environment["PATH"]).toStartWith(`${folder.path}/env/bin:`);
    expect(environment["VIRTUAL_ENV"]).toBe(`${folder.path}/env`);
  });

  test("refuses what is missing, what is no folder and a folder without interpreter", () => {
    using folder = new TemporaryFolder();
    folder.file("env.tar.gz");
    folder.directory("empty");
    const refusal = (path: string) => () => interpreterOf(modelIn(folder.path, path));
    expect(refusal("/none/env")).toThrow("EXECUTION_ENV_PATH '/none/env' does not exist");
    expect(refusal(`${folder.path}/env.tar.gz`)).toThrow("unpack the archive and name the folder");
    expect(refusal(`${folder.path}/empty`)).toThrow("has no bin/python3");
  });
});
