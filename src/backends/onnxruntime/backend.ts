import { LibraryNotFoundError } from "#ffi/library.ts";
import type { OrtApi } from "#ffi/onnxruntime/api.ts";
import { Environment } from "#ffi/onnxruntime/environment.ts";
import { openOnnxRuntime } from "#ffi/onnxruntime/open-library.ts";
import { Session } from "#ffi/onnxruntime/session.ts";
import type { ModelConfig } from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import type { Backend, BackendFactory, OpenModelOptions } from "../../core/backend/backend.ts";
import { configFromBytes } from "../../core/config/config-bytes.ts";
import { executionProvidersFor } from "./execution-providers.ts";
import { makeSession } from "./make-session.ts";
import { OnnxModel } from "./model.ts";
import { modelFilePath } from "./model-file.ts";
import { inferenceErrorFromNative } from "./native-failure.ts";
import { globalThreadPoolsFrom, sessionSettingsFrom } from "./session-settings.ts";

/** onnxruntime in one host. */
class OnnxBackend implements Backend {
  readonly #api: OrtApi;
  readonly #logger: Logger;
  /** Made with the first model, whose settings say whether thread pools are shared. */
  #environment: Environment | undefined;

  constructor(api: OrtApi, logger: Logger) {
    this.#api = api;
    this.#logger = logger;
  }

  async openModel(options: OpenModelOptions): Promise<OnnxModel> {
    const config = configFromBytes(options.config);
    const pools = globalThreadPoolsFrom(options.backendConfig);
    const settings = sessionSettingsFrom(config, options.backendConfig);
    try {
      this.#environment ??= new Environment(this.#api, pools);
      const session =
        options.sharedHandle === undefined
          ? this.#load(this.#environment, config, options)
          : Session.join(this.#api, options.sharedHandle);
      return new OnnxModel(options.modelName, session, settings.runEntries);
    } catch (error) {
      throw inferenceErrorFromNative(error);
    }
  }

  [Symbol.dispose](): void {
    this.#environment?.[Symbol.dispose]();
    this.#environment = undefined;
  }

  #load(environment: Environment, config: ModelConfig, options: OpenModelOptions): Session {
    const { modelName, modelDirectory, versionDirectory, backendConfig } = options;
    const modelPath = modelFilePath(modelName, versionDirectory, config.defaultModelFilename);
    const providers = executionProvidersFor(config, options.device);
    this.#logger.verbose(1, "opening ONNX model", {
      model: modelName,
      version: options.modelVersion,
      file: modelPath,
      onnxruntime: this.#api.version,
      library: this.#api.libraryPath,
      providers: [...providers.map(({ name }) => name), "CPU"].join(","),
    });
    return makeSession(environment, {
      modelName,
      modelPath,
      settings: sessionSettingsFrom(config, backendConfig),
      providers,
      customOperators: config.modelOperations?.opLibraryFilename ?? [],
      modelDirectory,
      usesGlobalThreads: globalThreadPoolsFrom(backendConfig) !== undefined,
    });
  }
}

/** The catalog's entry. */
export const ONNXRUNTIME_BACKEND: BackendFactory = {
  name: "onnxruntime",
  async create(logger, libraryPaths) {
    try {
      return new OnnxBackend(await openOnnxRuntime(libraryPaths["onnxruntime"]), logger);
    } catch (error) {
      if (!(error instanceof LibraryNotFoundError)) throw error;
      throw new InferenceError("UNSUPPORTED", error.message, { cause: error });
    }
  },
};
