import { existsSync, readdirSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** A place that somebody named: a flag or an environment variable. */
export interface LibrarySetting {
  /** As it is spelled, for messages. */
  readonly name: string;
  /** Absolute path of the library or of the folder that it is in; undefined or "" where nothing is set. */
  readonly value: string | undefined;
}

/** A way to get at a library when no file was found, for example out of this executable. */
export interface LibrarySource {
  /** For messages. */
  readonly description: string;
  /** @returns an absolute path. @throws Error saying why this way is closed. */
  locate(): Promise<string>;
}

/** Where a library may be, in the order of looking. */
export interface LibrarySearch {
  /** Its name in messages. */
  readonly name: string;
  /** `libonnxruntime.so`; in folders, versions of it (`libonnxruntime.so.1`) are taken as well. */
  readonly fileName: string;
  /** Versions to try in system folders, newest first: `["1"]`. */
  readonly versions: readonly string[];
  /** What is set here is binding: if it cannot be loaded, nothing else is tried. */
  readonly settings: readonly LibrarySetting[];
  /** System folders. */
  readonly folders: readonly string[];
  readonly sources: readonly LibrarySource[];
}

/** No place had the library, or the one that was asked for could not be loaded. */
export class LibraryNotFoundError extends Error {
  override readonly name = "LibraryNotFoundError";
}

/** Folders in which the system's loader looks on Linux, `LD_LIBRARY_PATH` first. */
export function systemLibraryFolders(
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const fromEnvironment = (environment["LD_LIBRARY_PATH"] ?? "").split(":").filter(isAbsolute);
  return [
    ...fromEnvironment,
    "/usr/local/lib",
    `/usr/local/lib/${machine}-linux-gnu`,
    `/usr/lib/${machine}-linux-gnu`,
    "/usr/lib64",
    "/usr/lib",
  ];
}

/**
 * Opens the first library that can be opened. Only absolute paths are passed on: the system's loader would look for a
 * bare name in the current directory too, where anybody may have put a file.
 *
 * @param open loads one path; its error is what the message says about that path.
 * @throws LibraryNotFoundError listing every place and what was wrong with it.
 */
export async function openLibrary<T>(search: LibrarySearch, open: (path: string) => T): Promise<T> {
  const tried: string[] = [];
  for (const setting of search.settings) {
    if (setting.value === undefined || setting.value === "") {
      tried.push(`${setting.name} (not set)`);
      continue;
    }
    return openSetting(search, setting.name, setting.value, open);
  }
  for (const folder of search.folders) {
    const names = [...search.versions.map((one) => `${search.fileName}.${one}`), search.fileName];
    const found = names.map((name) => join(folder, name)).filter((path) => existsSync(path));
    if (found.length === 0) tried.push(`${folder} (no ${search.fileName})`);
    for (const path of found) {
      const opened = attempt(path, open, tried);
      if (opened !== undefined) return opened.library;
    }
  }
  for (const source of search.sources) {
    try {
      return open(await source.locate());
    } catch (error) {
      tried.push(`${source.description} (${textOf(error)})`);
    }
  }
  throw new LibraryNotFoundError(
    `the ${search.name} library was not found. Tried, in this order: ${tried.join("; ")}`,
  );
}

function openSetting<T>(
  search: LibrarySearch,
  name: string,
  value: string,
  open: (path: string) => T,
): T {
  const what = `the ${search.name} library cannot be loaded from ${name}=${value}`;
  if (!isAbsolute(value)) throw new LibraryNotFoundError(`${what}: the path must be absolute`);
  if (!existsSync(value)) throw new LibraryNotFoundError(`${what}: no such file or folder`);
  const paths = statSync(value).isDirectory() ? librariesIn(value, search.fileName) : [value];
  if (paths.length === 0) {
    throw new LibraryNotFoundError(`${what}: the folder has no ${search.fileName}`);
  }
  const tried: string[] = [];
  for (const path of paths) {
    const opened = attempt(path, open, tried);
    if (opened !== undefined) return opened.library;
  }
  throw new LibraryNotFoundError(`${what}: ${tried.join("; ")}`);
}

function attempt<T>(
  path: string,
  open: (path: string) => T,
  tried: string[],
): { readonly library: T } | undefined {
  try {
    return { library: open(path) };
  } catch (error) {
    tried.push(`${path} (${textOf(error)})`);
    return undefined;
  }
}

/** Paths of `libx.so` and `libx.so.<version>` in a folder: the unversioned one, then from the newest down. */
export function librariesIn(folder: string, fileName: string): string[] {
  const isVersion = (name: string) =>
    name.startsWith(`${fileName}.`) && /^[\d.]+$/.test(name.slice(fileName.length + 1));
  const collator = new Intl.Collator("en", { numeric: true });
  return readdirSync(folder)
    .filter((name) => name === fileName || isVersion(name))
    .sort((a, b) => (a === fileName ? -1 : b === fileName ? 1 : collator.compare(b, a)))
    .map((name) => join(folder, name));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
