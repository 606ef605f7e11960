import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CacheSurroundings, cacheFolders, requirePrivate } from "./embedded-library.ts";

const OWNER_ONLY = 0o700;
const HASH_DIGIT_COUNT = 16;

/**
 * Puts small text files of the executable into a folder of their own, named after their content, for programs that
 * need them on disk. Files that are there are compared, byte by byte, and written again where they differ.
 *
 * @param files text by file name.
 * @returns the absolute folder. @throws Error listing the folders that were tried.
 */
export function extractFiles(
  name: string,
  files: Readonly<Record<string, string>>,
  surroundings: CacheSurroundings,
): string {
  const hash = createHash("sha256").update(JSON.stringify(files)).digest("hex");
  const tried: string[] = [];
  for (const cache of cacheFolders(surroundings)) {
    const folder = join(cache, `${name}-${hash.slice(0, HASH_DIGIT_COUNT)}`);
    try {
      mkdirSync(folder, { recursive: true, mode: OWNER_ONLY });
      for (const one of [cache, folder]) requirePrivate(one, surroundings.userId);
      for (const [fileName, text] of Object.entries(files)) put(folder, fileName, text);
      return folder;
    } catch (error) {
      tried.push(`${folder}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`no folder for the files of '${name}': ${tried.join("; ")}`);
}

function put(folder: string, fileName: string, text: string): void {
  const path = join(folder, fileName);
  if (textOf(path) === text) return;
  const part = join(folder, `${randomUUID()}.part`);
  writeFileSync(part, text, { flag: "wx" });
  renameSync(part, path);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
