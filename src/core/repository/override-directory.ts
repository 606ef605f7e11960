import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { InferenceError } from "../../base/error.ts";

/**
 * A temporary model directory that holds only the files given with a load request. Shared by the versions loaded
 * from it: each of them, and the load itself, holds it until `release`; the last release removes it from disk.
 */
export class OverrideDirectory {
  /** Absolute; its last part is the model's name. */
  readonly modelDirectory: string;
  readonly #root: string;
  #holderCount = 1;

  private constructor(root: string, modelDirectory: string) {
    this.#root = root;
    this.modelDirectory = modelDirectory;
  }

  /**
   * Writes the files. The caller holds the result and must release it.
   *
   * @param files contents by path relative to the model directory.
   * @throws InferenceError INVALID_ARG for a path that leaves the directory or cannot be written; nothing stays on
   *   disk then.
   */
  static async create(
    modelName: string,
    files: ReadonlyMap<string, Uint8Array>,
  ): Promise<OverrideDirectory> {
    for (const path of files.keys()) checkPath(path);
    const root = await mkdtemp(join(tmpdir(), "tribune-model-"));
    const directory = new OverrideDirectory(root, join(root, modelName));
    try {
      await mkdir(directory.modelDirectory);
      for (const [path, content] of files) await write(directory.modelDirectory, path, content);
    } catch (error) {
      await directory.release();
      throw error;
    }
    return directory;
  }

  /** One more holder. @returns this. */
  retain(): this {
    this.#holderCount++;
    return this;
  }

  /** One holder less; the last one removes the files. */
  async release(): Promise<void> {
    this.#holderCount--;
    if (this.#holderCount === 0) await rm(this.#root, { recursive: true, force: true });
  }
}

function checkPath(path: string): void {
  const normal = normalize(path);
  const leaves = isAbsolute(path) || normal === ".." || normal.startsWith("../");
  if (!leaves && path !== "" && normal !== "." && !path.includes("\0")) return;
  throw new InferenceError(
    "INVALID_ARG",
    `invalid path ${JSON.stringify(path)} of a model file override: it must name a file and ` +
      "must stay within model directory.",
  );
}

async function write(modelDirectory: string, path: string, content: Uint8Array): Promise<void> {
  const target = join(modelDirectory, path);
  try {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new InferenceError("INVALID_ARG", `cannot write model file override '${path}': ${text}`, {
      cause: error,
    });
  }
}
