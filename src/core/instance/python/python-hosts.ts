import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { InferenceError } from "../../../base/error.ts";
import type { Logger } from "../../../base/log.ts";
import type { OpenModelOptions } from "../../backend/backend.ts";
import type { ExecutionSignature, ModelReport } from "../../backend/backend-model.ts";
import type { PythonInterpreter } from "../../backend/python-interpreter.ts";
import { configFromBytes } from "../../config/config-bytes.ts";
import { configToJson } from "../../config/config-json.ts";
import { type InstancePlan, instancePlansFrom } from "../../config/instance-plan.ts";
import type { ModelConfig } from "../../config/model-config.ts";
import type { SlabAllocator } from "../../memory/slab.ts";
import { HostedPool, type PoolMember } from "../hosted-pool.ts";
import type { InstanceHosts, OpenedModel } from "../instance-hosts.ts";
import type { InstancePool } from "../instance-pool.ts";
import { PythonInstance, type StartedPython } from "./python-instance.ts";
import { PythonSession } from "./python-session.ts";
import type { ServerCalls } from "./server-calls.ts";

/** What {@link PythonHosts} is made of; handed in by the composition root. */
export interface PythonHostsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes memory that other processes can map. */
  readonly slabs: SlabAllocator;
  /** Puts the stub's files on disk where they are not and gives their folder. */
  readonly stubDirectory: () => Promise<string>;
  readonly calls: ServerCalls;
  readonly isAutoCompleteOn: boolean;
  /** The interpreter of a model: a name on PATH or a path. Builds its environment where it asks for one. */
  readonly interpreterOf: (options: OpenModelOptions, logger: Logger) => Promise<PythonInterpreter>;
}

/** Settings of `--backend-config=python,…`. @see reference of Triton's Python backend. */
const DEFAULT_SHM_BYTES = 1 << 20;
const DEFAULT_STUB_TIMEOUT_SECONDS = 30;
const DEFAULT_THREAD_POOL_SIZE = 32;
const READY_TIMEOUT_MS = 5000;
const MS_PER_SECOND = 1000;

/** Hosts of Python models: a process for each instance. */
export class PythonHosts implements InstanceHosts {
  readonly #options: PythonHostsOptions;

  constructor(options: PythonHostsOptions) {
    this.#options = options;
  }

  async open(_backend: string, model: OpenModelOptions): Promise<OpenedModel> {
    const message = configFromBytes(model.config);
    const filename =
      message.defaultModelFilename === "" ? "model.py" : message.defaultModelFilename;
    const path = join(model.versionDirectory, filename);
    if (!existsSync(path)) {
      throw new InferenceError("INTERNAL", `Python model file not found in '${path}'`);
    }
    const recipe: PythonRecipe = {
      options: this.#options,
      model,
      filename,
      interpreter: await this.#options.interpreterOf(model, this.#options.logger),
      stubDirectory: await this.#options.stubDirectory(),
    };
    const [first] = instancePlansFrom(message);
    const config = this.#options.isAutoCompleteOn ? configToJson(message) : null;
    const { session, completed } = await openSession(
      recipe,
      first?.name ?? model.modelName,
      config,
    );
    return new OpenedPython(recipe, session, completed);
  }

  async dispose(): Promise<void> {
    // Every process belongs to an opened model or to its pool.
  }
}

interface PythonRecipe {
  readonly options: PythonHostsOptions;
  readonly model: OpenModelOptions;
  readonly filename: string;
  readonly interpreter: PythonInterpreter;
  readonly stubDirectory: string;
}

/** A process in which the source has been imported. */
async function openSession(
  recipe: PythonRecipe,
  instanceName: string,
  configJson: string | null,
): Promise<{ readonly session: PythonSession; readonly completed: string | undefined }> {
  const { options, model, interpreter } = recipe;
  const timeoutMs = stubTimeoutMs(model);
  const session = await PythonSession.start({
    python: interpreter.python,
    environment: interpreter.environment,
    stubDirectory: recipe.stubDirectory,
    name: instanceName,
    firstSegmentBytes: settingOf(model, "shm-default-byte-size", DEFAULT_SHM_BYTES),
    threadPoolSize: settingOf(model, "thread-pool-size", DEFAULT_THREAD_POOL_SIZE),
    startTimeoutMs: timeoutMs,
    logger: options.logger,
    slabs: options.slabs,
    calls: options.calls,
  });
  try {
    const answer = await session.ask(
      {
        t: "open",
        name: model.modelName,
        version_directory: model.versionDirectory,
        model_directory: model.modelDirectory,
        filename: recipe.filename,
        config: configJson,
      },
      timeoutMs,
    );
    const completed = answer["config"];
    return { session, completed: completed === null ? undefined : JSON.stringify(completed) };
  } catch (error) {
    session.kill();
    throw error;
  }
}

/** A pool whose instances have a say in the model's readiness. */
class PythonPool extends HostedPool {
  readonly #pythons: readonly PythonInstance[];

  constructor(pythons: readonly PythonInstance[], members: readonly PoolMember[]) {
    super(members);
    this.#pythons = pythons;
  }

  async checkReady(): Promise<boolean> {
    const answers = await Promise.all(this.#pythons.map((instance) => instance.checkReady()));
    return answers.every((isReady) => isReady);
  }
}

class OpenedPython implements OpenedModel {
  readonly report: ModelReport;
  readonly #recipe: PythonRecipe;
  /** undefined once the pool has it, or it was freed. */
  #session: PythonSession | undefined;

  constructor(recipe: PythonRecipe, session: PythonSession, completed: string | undefined) {
    this.#recipe = recipe;
    this.#session = session;
    this.report = { inputs: [], outputs: [], completedConfigJson: completed };
  }

  async createPool(config: ModelConfig, signature: ExecutionSignature): Promise<InstancePool> {
    const first = this.#session;
    this.#session = undefined;
    const plans = instancePlansFrom(config.message);
    const attempts = await Promise.allSettled(
      plans.map((plan, i) =>
        this.#createInstance(plan, config, signature, i === 0 ? first : undefined),
      ),
    );
    const failure = attempts.find((attempt) => attempt.status === "rejected");
    if (failure !== undefined) {
      if (plans.length === 0) first?.kill();
      for (const attempt of attempts) {
        if (attempt.status === "fulfilled") await attempt.value.dispose();
      }
      throw failure.reason;
    }
    const instances = attempts.flatMap((a) => (a.status === "fulfilled" ? [a.value] : []));
    return new PythonPool(
      instances,
      instances.map((instance, i) => ({
        instance,
        isPassive: plans[i]?.isPassive ?? false,
        isOwner: false,
      })),
    );
  }

  async dispose(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) {
      session.kill();
      await session.end(0);
    }
  }

  async #createInstance(
    plan: InstancePlan,
    config: ModelConfig,
    signature: ExecutionSignature,
    opened: PythonSession | undefined,
  ): Promise<PythonInstance> {
    const { options, model } = this.#recipe;
    const start = async (session: PythonSession | undefined): Promise<StartedPython> => {
      const own = session ?? (await openSession(this.#recipe, plan.name, null)).session;
      return initialize(own, plan, config, signature, model);
    };
    return new PythonInstance(
      {
        modelName: config.name,
        name: plan.name,
        signature,
        clock: options.clock,
        logger: options.logger,
        finalizeTimeoutMs: stubTimeoutMs(model),
        readyTimeoutMs: READY_TIMEOUT_MS,
        restart: () => start(undefined),
      },
      await start(opened),
    );
  }
}

/** Makes the model's object in a process that has imported the source. */
async function initialize(
  session: PythonSession,
  plan: InstancePlan,
  config: ModelConfig,
  signature: ExecutionSignature,
  model: OpenModelOptions,
): Promise<StartedPython> {
  try {
    const answer = await session.ask(
      {
        t: "initialize",
        args: {
          model_config: configToJson(config.message),
          model_instance_kind: plan.device.kind,
          model_instance_name: plan.name,
          model_instance_device_id: String(Math.max(0, plan.device.id)),
          model_repository: model.modelDirectory,
          model_version: model.modelVersion,
          model_name: basename(model.modelName),
        },
        inputs: signature.inputs.map(({ name }) => name),
        outputs: signature.outputs.map(({ name }) => name),
        decoupled: config.isDecoupled,
      },
      stubTimeoutMs(model),
    );
    return { session, hasReadyCheck: answer["has_is_ready"] === true };
  } catch (error) {
    session.kill();
    throw error;
  }
}

function stubTimeoutMs(model: OpenModelOptions): number {
  const seconds = settingOf(model, "stub-timeout-seconds", DEFAULT_STUB_TIMEOUT_SECONDS);
  return seconds * MS_PER_SECOND;
}

/** @throws InferenceError INVALID_ARG for a setting that is no positive number. */
function settingOf(model: OpenModelOptions, name: string, fallback: number): number {
  const text = model.backendConfig[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0) {
    throw new InferenceError(
      "INVALID_ARG",
      `--backend-config=python,${name}=${text}: expected a positive whole number`,
    );
  }
  return value;
}
