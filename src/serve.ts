/** Puts the server together: log → models → ports → signals. */
import { inferenceErrorFrom } from "./base/error.ts";
import type { LogOutput } from "./base/log-output.ts";
import { ServerLog } from "./base/server-log.ts";
import { SystemClock } from "./base/system-clock.ts";
import { preciseWallClock } from "./base/wall-clock.ts";
import type { InstanceHosts } from "./core/instance/instance-hosts.ts";
import type { Model } from "./core/model/model.ts";
import { ModelCalls } from "./core/model-calls.ts";
import { ModelServer } from "./core/model-server.ts";
import { DescriptorOutput } from "./descriptor-output.ts";
import { CustomMetrics } from "./frontends/metrics/custom-metrics.ts";
import type { MetricsFrontend } from "./frontends/metrics/metrics-frontend.ts";
import { createInstanceHosts } from "./instance-homes.ts";
import { OptionError } from "./options/option.ts";
import type { LogOptions, ServerOptions } from "./options/server-options.ts";
import { stopOnSignals, surviveUncaught } from "./process-events.ts";
import { type FrontendPlan, Server } from "./server.ts";
import { EXTENSIONS, SERVER_VERSION, TRITON_VERSION } from "./version.ts";

/** The first hosts are on their way before the main thread is busy with loading the frontends. */
const HEAD_START_MS = 10;

/** @throws OptionError when the log file cannot be opened. */
function openOutput(path: string): LogOutput {
  if (path === "") return DescriptorOutput.console();
  try {
    return DescriptorOutput.file(path);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new OptionError(`--log-file '${path}' cannot be opened for writing: ${reason}`);
  }
}

function createLog(options: LogOptions, output: LogOutput): ServerLog {
  return new ServerLog({
    settings: {
      logFile: options.file,
      logInfo: options.info,
      logWarning: options.warning,
      logError: options.error,
      logVerboseLevel: options.verboseLevel,
      logFormat: options.format,
    },
    output,
    escapeMessages: options.escapeMessages,
    pid: process.pid,
    nowMs: preciseWallClock(),
  });
}

function createModels(
  options: ServerOptions,
  hosts: InstanceHosts,
  log: ServerLog,
  onModelReady: (model: Model) => void,
): ModelServer {
  const { repository } = options;
  return new ModelServer({
    metadata: { name: options.id, version: TRITON_VERSION, extensions: EXTENSIONS },
    repositoryPaths: repository.paths,
    controlMode: repository.controlMode,
    startupModels: repository.startupModels,
    isReadinessStrict: repository.strictReadiness,
    loadThreadCount: repository.loadThreadCount,
    loadRetryCount: repository.loadRetryCount,
    configName: repository.configName,
    isAutoCompleteOn: repository.autoCompleteConfig,
    backendConfig: options.backendConfig,
    libraryPaths: options.libraryPaths,
    gpuCount: 0,
    hosts,
    clock: new SystemClock(),
    logger: log,
    log,
    onModelReady,
  });
}

function createServer(options: ServerOptions, log: ServerLog): Server {
  const clock = new SystemClock();
  const custom = new CustomMetrics(options.metrics.isAllowed);
  const hosts = createInstanceHosts({
    clock,
    logger: log,
    python: {
      isAutoCompleteOn: options.repository.autoCompleteConfig,
      calls: new ModelCalls(() => models, clock, custom),
    },
  });
  let metrics: MetricsFrontend | undefined;
  const models = createModels(options, hosts, log, (model) => metrics?.modelReady(model));
  const preparePorts = async (): Promise<readonly FrontendPlan[]> => {
    await Bun.sleep(HEAD_START_MS);
    const { frontendPlans } = await import("./frontend-plans.ts");
    return frontendPlans(options, models, log, custom, (frontend) => {
      metrics = frontend;
    });
  };
  return new Server({
    models,
    preparePorts,
    disposeHosts: () => hosts.dispose(),
    log,
    clock,
    exitOnError: options.repository.exitOnError,
    exitTimeoutSeconds: options.exitTimeoutSeconds,
  });
}

/**
 * Serves until a signal ends the process; resolves once the server is ready, or never.
 * @param warnings lines about the command line, to log at start.
 * @throws OptionError when the log file cannot be opened.
 */
export async function serve(options: ServerOptions, warnings: readonly string[]): Promise<void> {
  const output = openOutput(options.log.file);
  const log = createLog(options.log, output);
  surviveUncaught(process, log);
  log.info(`tribune ${SERVER_VERSION}`, { triton: TRITON_VERSION, bun: Bun.version });
  for (const warning of warnings) log.warning(warning);

  const exit = (status: number): never => {
    output.close();
    process.exit(status);
  };
  try {
    const server = createServer(options, log);
    stopOnSignals({ events: process, logger: log, stop: () => server.stop(), exit });
    await server.start();
  } catch (thrown) {
    log.error(`error: creating server: ${inferenceErrorFrom(thrown).statusText}`);
    exit(1);
  }
}
