import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import {
  cacheFolders,
  type EmbeddedLibrary,
  extractLibrary,
  processSurroundings,
} from "../embedded-library.ts";
import { type LibrarySource, librariesIn, openLibrary, systemLibraryFolders } from "../library.ts";
import { OrtApi } from "./api.ts";

/** Filled in by deploy/build.ts; a run from source has none. */
declare const TRIBUNE_ONNXRUNTIME_SHA256: string | undefined;

/** Environment variable that names the library or its folder. */
export const LIBRARY_VARIABLE = "TRIBUNE_ONNXRUNTIME_LIBRARY";

const FILE_NAME = "libonnxruntime.so";

/**
 * Opens onnxruntime: the path from the command line, the environment, the system's folders, then the copy inside this
 * executable (from source: the one that `make` fetched into dist/lib).
 *
 * @param flagPath absolute path of the library or of its folder, from the command line.
 * @throws LibraryNotFoundError listing every place and what was wrong with it.
 */
export function openOnnxRuntime(flagPath?: string): Promise<OrtApi> {
  return openLibrary(
    {
      name: "onnxruntime",
      fileName: FILE_NAME,
      versions: ["1"],
      settings: [
        { name: "--onnxruntime-library", value: flagPath },
        { name: LIBRARY_VARIABLE, value: process.env[LIBRARY_VARIABLE] },
      ],
      folders: systemLibraryFolders(process.env),
      sources: lastSources(),
    },
    (path) => OrtApi.open(path),
  );
}

function lastSources(): LibrarySource[] {
  const embedded = embeddedLibrary();
  if (embedded === undefined) return [fetchedLibrary()];
  const surroundings = processSurroundings();
  return cacheFolders(surroundings).map((folder) => ({
    description: `the copy inside this executable, extracted to ${folder}`,
    locate: () => extractLibrary(embedded, folder, surroundings.userId),
  }));
}

function embeddedLibrary(): EmbeddedLibrary | undefined {
  if (typeof TRIBUNE_ONNXRUNTIME_SHA256 === "undefined") return undefined;
  for (const content of Bun.embeddedFiles) {
    const fileName = basename("name" in content ? String(content.name) : "");
    if (fileName.startsWith(FILE_NAME)) {
      return { fileName, sha256: TRIBUNE_ONNXRUNTIME_SHA256, content };
    }
  }
  return undefined;
}

/** For runs from source. */
function fetchedLibrary(): LibrarySource {
  const folder = join(import.meta.dir, "..", "..", "dist", "lib");
  return {
    description: folder,
    async locate() {
      const [path] = existsSync(folder) ? librariesIn(folder, FILE_NAME) : [];
      if (path === undefined) throw new Error(`no ${FILE_NAME}; \`make build\` fetches it`);
      return path;
    },
  };
}
