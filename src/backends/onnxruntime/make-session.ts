import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { NativeError } from "#ffi/native-error.ts";
import type { OrtApi } from "#ffi/onnxruntime/api.ts";
import type { Environment } from "#ffi/onnxruntime/environment.ts";
import { LIBRARY_VARIABLE } from "#ffi/onnxruntime/open-library.ts";
import { builtInProviders } from "#ffi/onnxruntime/providers.ts";
import { Session } from "#ffi/onnxruntime/session.ts";
import { SessionOptions } from "#ffi/onnxruntime/session-options.ts";
import { InferenceError } from "../../base/error.ts";
import type { ProviderChoice } from "./execution-providers.ts";
import type { SessionSettings } from "./session-settings.ts";
import { spinningEntries } from "./spinning.ts";

/** What a session is made of. */
export interface SessionPlan {
  readonly modelName: string;
  /** Absolute. */
  readonly modelPath: string;
  readonly settings: SessionSettings;
  readonly providers: readonly ProviderChoice[];
  /** Libraries of operators, absolute or relative to the model's directory. */
  readonly customOperators: readonly string[];
  /** Absolute. */
  readonly modelDirectory: string;
  /** The environment has pools for all sessions. */
  readonly usesGlobalThreads: boolean;
}

/**
 * Loads the model.
 * @throws InferenceError UNSUPPORTED where the library lacks a provider that was asked for; NativeError otherwise.
 */
export function makeSession(environment: Environment, plan: SessionPlan): Session {
  using options = new SessionOptions(environment.api);
  const { settings } = plan;
  options.setGraphOptimizationLevel(settings.graphOptimizationLevel);
  options.setExecutionMode(settings.isParallel);
  if (plan.usesGlobalThreads) options.disablePerSessionThreads();
  else {
    options.setIntraOpThreadCount(settings.intraOpThreadCount);
    options.setInterOpThreadCount(settings.interOpThreadCount);
  }
  options.setCpuMemoryArena(settings.hasMemoryArena);
  options.setMemoryPattern(settings.hasMemoryPattern);
  for (const [key, value] of spinningEntries(environment.api.apiVersion, settings)) {
    options.addConfigEntry(key, value);
  }
  for (const [key, value] of settings.sessionEntries) options.addConfigEntry(key, value);
  for (const file of plan.customOperators) {
    options.registerCustomOperators(customOperatorPath(plan, file));
  }
  for (const provider of plan.providers) appendProvider(environment.api, options, plan, provider);
  return Session.load(environment, plan.modelPath, options);
}

/** The system's loader must not look for it elsewhere. */
function customOperatorPath({ modelName, modelDirectory }: SessionPlan, file: string): string {
  const path = resolve(modelDirectory, file);
  if (existsSync(path)) return path;
  throw new InferenceError(
    "INVALID_ARG",
    `model_operations.op_library_filename '${file}' of model '${modelName}' is not there: ${path}`,
  );
}

function appendProvider(
  api: OrtApi,
  options: SessionOptions,
  { modelName }: SessionPlan,
  provider: ProviderChoice,
): void {
  try {
    options.appendProvider(provider.name, provider.options);
  } catch (error) {
    if (!(error instanceof NativeError)) throw error;
    throw new InferenceError(
      "UNSUPPORTED",
      `model '${modelName}' needs onnxruntime's ${provider.name} provider (${provider.askedBy}), which ` +
        `${api.libraryPath} (version ${api.version}) cannot give: ${error.text.trim()}. It was built with ` +
        `${builtInProviders(api).join(", ")}. Another build is named by ${LIBRARY_VARIABLE}`,
      { cause: error },
    );
  }
}
