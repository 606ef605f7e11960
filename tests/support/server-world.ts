import { InferenceError } from "../../src/base/error.ts";
import type { LogSettings } from "../../src/base/log.ts";
import { ModelServer, type ModelServerOptions } from "../../src/core/model-server.ts";
import { FakeInstanceHosts } from "./fake-instance-hosts.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { TemporaryFolder } from "./temporary-folder.ts";

/** Settings of the log as a server starts with them. */
export const LOG_SETTINGS: LogSettings = {
  logFile: "",
  logInfo: true,
  logWarning: true,
  logError: true,
  logVerboseLevel: 0,
  logFormat: "default",
};

/** A model server over a folder of its own and instance hosts that only pretend. */
export class ServerWorld implements Disposable {
  readonly folder = new TemporaryFolder();
  readonly hosts = new FakeInstanceHosts();
  readonly logger = new RecordingLogger();
  readonly clock = new ManualClock();
  readonly server: ModelServer;

  /** Mode explicit without start-up models, unless `change` says otherwise. */
  constructor(change: Partial<ModelServerOptions> = {}) {
    const log = {
      settings: LOG_SETTINGS,
      update: (settings: Partial<LogSettings>) => ({ ...LOG_SETTINGS, ...settings }),
    };
    this.server = new ModelServer({
      metadata: { name: "triton", version: "0", extensions: [] },
      repositoryPaths: [this.folder.path],
      controlMode: "explicit",
      startupModels: [],
      isReadinessStrict: true,
      loadThreadCount: 4,
      loadRetryCount: 0,
      configName: "",
      isAutoCompleteOn: true,
      backendConfig: new Map(),
      libraryPaths: {},
      gpuCount: 0,
      hosts: this.hosts,
      clock: this.clock,
      logger: this.logger,
      log,
      ...change,
    });
  }

  /** Writes a model with a version for each number. */
  put(name: string, config = 'backend: "onnxruntime"\n', versions: readonly number[] = [1]): void {
    this.folder.file(`${name}/config.pbtxt`, config);
    for (const version of versions) this.folder.file(`${name}/${version}/model.onnx`, "graph");
  }

  /** The index as lines, `name version STATE reason`. */
  index(onlyReady = false): string[] {
    return this.server
      .index(onlyReady)
      .map(({ name, version = "", state = "", reason = "" }) =>
        `${name} ${version} ${state} ${reason}`.replaceAll(/ +/g, " ").trim(),
      );
  }

  /** Versions opened so far, `name/version`. */
  opened(): string[] {
    return this.hosts.openings.map(({ options }) => `${options.modelName}/${options.modelVersion}`);
  }

  [Symbol.dispose](): void {
    this.folder.dispose();
  }
}

/** The error that a call throws or rejects with. */
export async function refusalOf(call: () => unknown): Promise<InferenceError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
