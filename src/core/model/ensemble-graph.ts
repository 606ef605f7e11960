/**
 * Which ensembles stand on which models, for as long as somebody wants the ensembles: one that had to leave service
 * with a step stays known, so that it comes back with the step.
 */
export class EnsembleGraph {
  readonly #steps = new Map<string, readonly string[]>();

  /** @param steps names of its steps' models; none for what is no ensemble. */
  set(modelName: string, steps: readonly string[]): void {
    if (steps.length === 0) this.#steps.delete(modelName);
    else this.#steps.set(modelName, steps);
  }

  delete(modelName: string): void {
    this.#steps.delete(modelName);
  }

  /** Names of the models that an ensemble stands on directly; none for other models. */
  stepsOf(modelName: string): readonly string[] {
    return this.#steps.get(modelName) ?? [];
  }

  /** Ensembles with a step on this very model. */
  usersOf(modelName: string): readonly string[] {
    const users: string[] = [];
    for (const [ensemble, steps] of this.#steps)
      if (steps.includes(modelName)) users.push(ensemble);
    return users;
  }

  /** Ensembles that stand on a model, over others too; the nearest first. */
  allUsersOf(modelName: string): readonly string[] {
    const found = new Set<string>();
    const open = [modelName];
    for (const name of open) {
      for (const user of this.usersOf(name)) {
        if (found.has(user)) continue;
        found.add(user);
        open.push(user);
      }
    }
    return [...found];
  }
}
