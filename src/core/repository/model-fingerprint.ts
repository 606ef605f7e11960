import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { versionFromDirectoryName } from "./version-directories.ts";

/**
 * What a model directory looks like from outside: names, sizes and modification times, digested. Two equal texts
 * mean "nothing changed". The model directory's own time does not count, so that a new version does not make the
 * others look new.
 */
export interface ModelFingerprint {
  /** One for each version directory. */
  readonly versions: ReadonlyMap<number, string>;
  /** `config.*` and `configs/`. */
  readonly config: string;
  /** Everything else: labels, warm-up files, shared code. */
  readonly other: string;
}

/** Deep enough for any real model; ends the walk where symbolic links form a loop. */
const MAX_DEPTH = 24;

/** Written by tools beside the model, not by whoever deploys it. */
function isByProduct(name: string): boolean {
  return name === "__pycache__" || name.startsWith(".");
}

/**
 * Looks at every file of a model directory without reading any.
 *
 * @throws Error of the file system when the directory cannot be read; a file that vanishes meanwhile is left out.
 */
export async function fingerprintOf(modelDirectory: string): Promise<ModelFingerprint> {
  const versions = new Map<number, string>();
  const configLines: string[] = [];
  const otherLines: string[] = [];
  for (const name of (await readdir(modelDirectory)).sort()) {
    if (isByProduct(name)) continue;
    const lines: string[] = [];
    const isADirectory = await collect(modelDirectory, name, lines, 0);
    const version = isADirectory ? versionFromDirectoryName(name) : undefined;
    if (version !== undefined) versions.set(version, digest(lines));
    else if (name === "configs" || /^config\.[a-z]+$/.test(name)) configLines.push(...lines);
    else otherLines.push(...lines);
  }
  return { versions, config: digest(configLines), other: digest(otherLines) };
}

/** Adds a line for `relativePath` and for all below it. @returns whether it is a directory. */
async function collect(
  root: string,
  relativePath: string,
  lines: string[],
  depth: number,
): Promise<boolean> {
  const path = join(root, relativePath);
  const facts = await stat(path, { bigint: true }).catch(() => undefined);
  if (facts === undefined) return false;
  const isADirectory = facts.isDirectory();
  // The size of a directory says nothing that its entries do not.
  lines.push(`${relativePath}\0${facts.mtimeNs}\0${isADirectory ? "" : facts.size}`);
  if (!isADirectory || depth >= MAX_DEPTH) return isADirectory;
  const names = await readdir(path).catch(() => []);
  for (const name of names.sort()) {
    if (!isByProduct(name)) await collect(root, join(relativePath, name), lines, depth + 1);
  }
  return true;
}

function digest(lines: readonly string[]): string {
  return Bun.hash(lines.join("\n")).toString(36);
}
