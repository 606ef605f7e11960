import type { Model } from "./model.ts";

/** READY versions of one model. */
interface ReadyVersions {
  /** Ascending by version. */
  readonly models: readonly Model[];
  readonly newest: Model;
  readonly byVersionText: ReadonlyMap<string, Model>;
}

/**
 * The models that serve, by name and version. Written on each change of state, read on each request: a look-up is
 * one or two map reads and allocates nothing.
 */
export class ReadyModels {
  readonly #byName = new Map<string, ReadyVersions>();

  /** @param versionText "" = the highest version. @returns undefined where no such version is READY. */
  find(name: string, versionText: string): Model | undefined {
    const versions = this.#byName.get(name);
    if (versions === undefined) return undefined;
    return versionText === "" ? versions.newest : versions.byVersionText.get(versionText);
  }

  /** READY versions of one model, ascending; empty where there are none. */
  versionsOf(name: string): readonly Model[] {
    return this.#byName.get(name)?.models ?? [];
  }

  /** All, by name, then version. */
  all(): readonly Model[] {
    return [...this.#byName.keys()].sort().flatMap((name) => this.versionsOf(name));
  }

  /** Replaces what is READY of one model. @param models in any order. */
  set(name: string, models: readonly Model[]): void {
    const ascending = [...models].sort((a, b) => a.version - b.version);
    const newest = ascending.at(-1);
    if (newest === undefined) {
      this.#byName.delete(name);
      return;
    }
    const byVersionText = new Map(ascending.map((model) => [model.versionText, model]));
    this.#byName.set(name, { models: ascending, newest, byVersionText });
  }
}
