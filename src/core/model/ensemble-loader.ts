import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import { checkModelName } from "../repository/model-name.ts";
import { EnsembleGraph } from "./ensemble-graph.ts";
import type { Model } from "./model.ts";
import type { ModelLifecycle } from "./model-lifecycle.ts";
import type { ModelLoader, ModelOverrides } from "./model-loader.ts";

/** Loads that belong together: no model is loaded twice, and steps come before the ensembles that need them. */
interface LoadRound {
  readonly tasks: Map<string, Promise<void>>;
  /** Names of steps, by model, as they stand on disk. */
  readonly steps: Map<string, Promise<readonly string[]>>;
  /** Models whose serving versions are others than before. */
  readonly changed: Set<string>;
}

/** What an {@link EnsembleLoader} is made of. */
export interface EnsembleLoaderOptions {
  readonly loader: ModelLoader;
  readonly lifecycle: ModelLifecycle;
  readonly logger: Logger;
}

/**
 * Loads and unloads models together with those that depend on them: the steps of an ensemble come first, and when a
 * step is replaced or leaves, so do the ensembles that stand on it.
 */
export class EnsembleLoader {
  readonly #options: EnsembleLoaderOptions;
  readonly #graph = new EnsembleGraph();
  /** Models that somebody asked for by name; the others came as steps. */
  readonly #askedFor = new Set<string>();

  constructor(options: EnsembleLoaderOptions) {
    this.#options = options;
  }

  /** @see ModelLoader.load. Steps of an ensemble are loaded first; their failure shows in the ensemble's own. */
  async load(modelName: string, overrides: ModelOverrides = {}): Promise<void> {
    checkModelName(modelName);
    const round = newRound();
    try {
      await this.#task(round, modelName, overrides);
      this.#askedFor.add(modelName);
    } finally {
      await this.#reloadUsers(round);
    }
  }

  /** Loads several models side by side. @returns the failures by name. */
  async loadAll(modelNames: readonly string[]): Promise<ReadonlyMap<string, InferenceError>> {
    const round = newRound();
    const failures = new Map<string, InferenceError>();
    await Promise.all(
      modelNames.map(async (modelName) => {
        try {
          await this.#task(round, modelName, {});
          this.#askedFor.add(modelName);
        } catch (thrown) {
          if (!(thrown instanceof InferenceError)) throw thrown;
          failures.set(modelName, thrown);
        }
      }),
    );
    await this.#reloadUsers(round);
    return failures;
  }

  /**
   * Takes a model out of service, and the ensembles that stand on it.
   * @param unloadSteps also the steps of an ensemble that nobody asked for by name and no other ensemble needs.
   */
  async unload(modelName: string, unloadSteps: boolean): Promise<void> {
    const { loader, lifecycle } = this.#options;
    const steps = this.#graph.stepsOf(modelName);
    await loader.unload(modelName);
    this.#graph.delete(modelName);
    this.#askedFor.delete(modelName);
    for (const user of this.#graph.allUsersOf(modelName)) {
      await loader.runAlone(user, async () => {
        // It may have come back on another version meanwhile.
        if (lifecycle.ready.versionsOf(user).some(isStale)) lifecycle.unload(user);
      });
    }
    if (!unloadSteps) return;
    for (const step of steps) {
      if (this.#askedFor.has(step) || this.#graph.usersOf(step).length > 0) continue;
      await this.unload(step, true);
    }
  }

  #task(round: LoadRound, modelName: string, overrides: ModelOverrides): Promise<void> {
    const known = round.tasks.get(modelName);
    if (known !== undefined) return known;
    const task = this.#loadAfterSteps(round, modelName, overrides);
    round.tasks.set(modelName, task);
    return task;
  }

  async #loadAfterSteps(
    round: LoadRound,
    modelName: string,
    overrides: ModelOverrides,
  ): Promise<void> {
    const { loader, lifecycle } = this.#options;
    const own = loader.stepNames(modelName, overrides);
    round.steps.set(modelName, own);
    const steps = await own;
    await this.#checkForCircle(round, modelName);
    // No lock is held meanwhile, so that models can wait for each other in any order.
    await Promise.allSettled(steps.map((step) => this.#task(round, step, {})));
    const before = lifecycle.ready.versionsOf(modelName);
    const stepsBefore = this.#graph.stepsOf(modelName);
    // Known before it is loaded: a step that leaves meanwhile has to find it.
    this.#graph.set(modelName, steps);
    try {
      await loader.load(modelName, overrides);
    } catch (thrown) {
      this.#graph.set(modelName, stepsBefore);
      throw thrown;
    } finally {
      const after = lifecycle.ready.versionsOf(modelName);
      if (!isSame(before, after)) round.changed.add(modelName);
    }
  }

  /** @throws InferenceError INVALID_ARG where an ensemble would need itself. */
  async #checkForCircle(round: LoadRound, modelName: string): Promise<void> {
    const cameFrom = new Map<string, string>();
    const open = [modelName];
    for (const name of open) {
      for (const step of await this.#stepsOf(round, name)) {
        if (step === modelName) throw circleError(modelName, name, cameFrom);
        if (cameFrom.has(step)) continue;
        cameFrom.set(step, name);
        open.push(step);
      }
    }
  }

  #stepsOf(round: LoadRound, modelName: string): Promise<readonly string[]> {
    const known = round.steps.get(modelName);
    if (known !== undefined) return known;
    const steps = this.#options.loader.stepNames(modelName, {});
    round.steps.set(modelName, steps);
    return steps;
  }

  /** Loads anew what stands on models that have changed; one that does not fit them any more leaves service. */
  async #reloadUsers(round: LoadRound): Promise<void> {
    for (;;) {
      const users = [...round.changed]
        .flatMap((modelName) => this.#graph.usersOf(modelName))
        .filter((user) => !round.tasks.has(user));
      if (users.length === 0) return;
      await Promise.all([...new Set(users)].map((user) => this.#reload(round, user)));
    }
  }

  async #reload(round: LoadRound, modelName: string): Promise<void> {
    const { loader, lifecycle, logger } = this.#options;
    try {
      await this.#task(round, modelName, {});
    } catch (thrown) {
      logger.error(
        `ensemble '${modelName}' cannot go on with another version of its steps: ${inferenceErrorFrom(thrown).message}`,
      );
      await loader.runAlone(modelName, async () => {
        if (lifecycle.ready.versionsOf(modelName).some(isStale)) lifecycle.unload(modelName);
      });
    }
  }
}

function newRound(): LoadRound {
  return { tasks: new Map(), steps: new Map(), changed: new Set() };
}

function isStale(model: Model): boolean {
  return model.isStale === true;
}

function isSame(a: readonly Model[], b: readonly Model[]): boolean {
  return a.length === b.length && a.every((model, i) => model === b[i]);
}

/** @param last the model on the way whose step is `modelName` again. */
function circleError(
  modelName: string,
  last: string,
  cameFrom: ReadonlyMap<string, string>,
): InferenceError {
  const path = [modelName];
  for (let name = last; name !== modelName; name = cameFrom.get(name) ?? modelName) path.push(name);
  const text = [...path, modelName].reverse().join(" -> ");
  return new InferenceError(
    "INVALID_ARG",
    `failed to load '${modelName}', circular dependency between ensembles: ${text}`,
  );
}
