import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { InferenceError } from "../../base/error.ts";
import { isDirectory } from "./version-directories.ts";

/** One model name in the repositories. */
export interface RepositoryEntry {
  readonly name: string;
  /** Absolute; more than one where several repositories have a model of this name, which is then not served. */
  readonly directories: readonly string[];
}

/** Index reason of a name that several repositories have. */
export const DUPLICATE_MODEL_REASON = "model appears in two or more repositories";

/**
 * The folders given by `--model-repository`: each directory in them is a model. Nothing is cached, so that models
 * added while the server runs are seen.
 */
export class ModelRepository {
  /** Absolute, without repetition. */
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    this.paths = [...new Set(paths.map((path) => resolve(path)))];
  }

  /** @throws InferenceError INVALID_ARG naming the first path that is no directory. */
  checkPaths(): void {
    for (const path of this.paths) {
      if (isDirectory(path)) continue;
      throw new InferenceError(
        "INVALID_ARG",
        `failed to open model repository '${path}': it does not exist or is no directory`,
      );
    }
  }

  /**
   * All models, by name. Files and directories whose names start with a dot (`.git`, `..data` of Kubernetes mounts)
   * are no models; a repository that cannot be read just now adds none.
   */
  list(): readonly RepositoryEntry[] {
    const directoriesByName = new Map<string, string[]>();
    for (const path of this.paths) {
      for (const name of directoryNames(path)) {
        const directories = directoriesByName.get(name);
        if (directories === undefined) directoriesByName.set(name, [join(path, name)]);
        else directories.push(join(path, name));
      }
    }
    const names = [...directoriesByName.keys()].sort();
    return names.map((name) => ({ name, directories: directoriesByName.get(name) ?? [] }));
  }

  /** @param name checked by {@link checkModelName}. @returns its directories, empty where there are none. */
  find(name: string): readonly string[] {
    return this.paths.map((path) => join(path, name)).filter(isDirectory);
  }
}

function directoryNames(path: string): readonly string[] {
  try {
    const names: string[] = [];
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.name.startsWith(".")) continue;
      const isModel = entry.isSymbolicLink()
        ? isDirectory(join(path, entry.name))
        : entry.isDirectory();
      if (isModel) names.push(entry.name);
    }
    return names;
  } catch {
    // A mount that is away for a moment must not take the index endpoint down.
    return [];
  }
}
