import { randomUUID } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";

/** A library that is inside this executable. */
export interface EmbeddedLibrary {
  /** Its own name, which it keeps: libraries find their neighbours by name. */
  readonly fileName: string;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  readonly content: Blob;
}

/** Who asks, and where private files may go. Tests hand in their own. */
export interface CacheSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly temporaryFolder: string;
  readonly userId: number;
}

/** The surroundings of this process. */
export function processSurroundings(): CacheSurroundings {
  return {
    environment: process.env,
    temporaryFolder: tmpdir(),
    userId: process.getuid?.() ?? -1,
  };
}

const OWNER_ONLY = 0o700;
const WRITABLE_BY_OTHERS = 0o022;
const PIECE_BYTES = 1024 * 1024;

/**
 * Folders in which an extracted library may lie, best first: the user's cache, and a folder of our own among the
 * temporary files for users without a home or with one that cannot be written.
 */
export function cacheFolders(surroundings: CacheSurroundings): string[] {
  const { environment, temporaryFolder, userId } = surroundings;
  const folders: string[] = [];
  const cache = environment["XDG_CACHE_HOME"];
  if (cache !== undefined && isAbsolute(cache)) folders.push(join(cache, "tribune"));
  const home = environment["HOME"];
  if (home !== undefined && isAbsolute(home)) folders.push(join(home, ".cache", "tribune"));
  folders.push(join(temporaryFolder, `tribune-${userId}`));
  return folders;
}

/**
 * Puts the library into a folder named after its hash, unless it is there already, and gives its path.
 *
 * A file that is there is believed without reading its 35 MB when a note beside it still fits: size, inode and the
 * times of the last change of content and of status, as they were when the hash was last compared. The status time
 * cannot be set back by ordinary means, so a changed file never fits; in doubt the whole file is hashed again (about
 * 25 ms). Whoever could forge the note could as well replace this process: the folder is the user's alone.
 *
 * A valid file is never replaced, because threads of this process may have it loaded: a second copy of a library in
 * one process would have its own state.
 *
 * @param folder one of {@link cacheFolders}; made where it is missing.
 * @throws Error saying why this folder will not do.
 */
export async function extractLibrary(
  library: EmbeddedLibrary,
  folder: string,
  userId: number,
): Promise<string> {
  const home = join(folder, library.sha256.slice(0, 16));
  mkdirSync(home, { recursive: true, mode: OWNER_ONLY });
  for (const one of [folder, home]) requirePrivate(one, userId);
  const path = join(home, library.fileName);
  const note = `${path}.verified`;
  if (isVerified(path, note) || verify(path, note, library.sha256)) return path;

  const part = join(home, `${randomUUID()}.part`);
  try {
    // Straight from the executable: as bytes in JavaScript it cost each host of the first start 35 MB for good.
    await Bun.write(part, library.content);
    publish(part, path);
  } finally {
    rmSync(part, { force: true });
  }
  if (!verify(path, note, library.sha256)) {
    throw new Error(`${path} has not the expected sha256 ${library.sha256}`);
  }
  return path;
}

/** Gives the whole file its name; another process that was faster wins, with the same bytes. */
function publish(part: string, path: string): void {
  try {
    linkSync(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Others must not be able to slip us a library. @throws Error naming the folder and what is wrong with it. */
export function requirePrivate(folder: string, userId: number): void {
  const status = lstatSync(folder);
  if (!status.isDirectory()) throw new Error(`${folder} is not a folder`);
  if (status.uid !== userId) throw new Error(`${folder} belongs to user ${status.uid}`);
  if ((status.mode & WRITABLE_BY_OTHERS) !== 0) {
    throw new Error(`${folder} can be written by other users`);
  }
}

function isVerified(path: string, note: string): boolean {
  const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (status === undefined || !status.isFile()) return false;
  try {
    return readFileSync(note, "utf8") === fingerprint(status);
  } catch {
    // No note yet: the caller hashes the file.
    return false;
  }
}

/** Hashes the file if there is one. A wrong one is removed, a right one gets its note. */
function verify(path: string, note: string, sha256: string): boolean {
  const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (status === undefined) return false;
  const isRight = status.isFile() && hashOf(path) === sha256;
  if (!isRight) {
    rmSync(path, { recursive: true, force: true });
    return false;
  }
  writeFileSync(note, fingerprint(status), { mode: 0o600 });
  return true;
}

/** In pieces: every host does this at its first start, and a process keeps the memory that it once had. */
function hashOf(path: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const piece = new Uint8Array(PIECE_BYTES);
  const file = openSync(path, "r");
  try {
    for (let count = readSync(file, piece); count > 0; count = readSync(file, piece)) {
      hasher.update(piece.subarray(0, count));
    }
  } finally {
    closeSync(file);
  }
  return hasher.digest("hex");
}

function fingerprint(status: BigIntStats): string {
  return [status.size, status.ino, status.mtimeNs, status.ctimeNs].join(" ");
}
