import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../../base/log.ts";

/** One version of a model on disk. */
export interface VersionDirectory {
  readonly version: number;
  /** Absolute. */
  readonly directory: string;
}

/** Directories that Triton's layout gives another meaning: never versions, and no reason for a warning. */
const RESERVED_DIRECTORIES: ReadonlySet<string> = new Set(["configs", "initial_state", "warmup"]);

/**
 * The version number that a directory name stands for; undefined where it stands for none.
 *
 * Only a plain decimal number counts. Triton converts a numeric prefix, so that `1_backup` is its version 1 and
 * competes with `1`; here such names are ignored, as its documentation says.
 */
export function versionFromDirectoryName(name: string): number | undefined {
  if (!/^(0|[1-9][0-9]*)$/.test(name)) return undefined;
  const version = Number(name);
  return Number.isSafeInteger(version) ? version : undefined;
}

/**
 * The versions in a model directory, ascending by number. Other directories are ignored with a warning, files
 * silently.
 *
 * @throws Error of the file system when the directory cannot be read.
 */
export function versionDirectories(
  modelDirectory: string,
  logger: Logger,
): readonly VersionDirectory[] {
  const found: VersionDirectory[] = [];
  for (const name of readdirSync(modelDirectory)) {
    const directory = join(modelDirectory, name);
    if (RESERVED_DIRECTORIES.has(name) || !isDirectory(directory)) continue;
    const version = versionFromDirectoryName(name);
    if (version !== undefined) found.push({ version, directory });
    else logger.warning("ignoring a directory whose name is no version number", { directory });
  }
  return found.sort((a, b) => a.version - b.version);
}

/** Whether a path is a directory or a link to one; false where it cannot be looked at. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    // A name too long, a loop of links, a closed directory: nothing that could be served.
    return false;
  }
}
