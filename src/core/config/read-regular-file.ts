import { constants } from "node:fs";
import { open } from "node:fs/promises";

/**
 * Reads a whole file, and only a file: the read of a pipe or a device could wait, or go on, for ever.
 *
 * @throws Error with the system's `code`, or saying that the path is not a regular file.
 */
export async function readRegularFile(path: string): Promise<Uint8Array> {
  // Without the flag the opening of a pipe waits for somebody to write into it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error("it is not a regular file");
    return await file.readFile();
  } finally {
    await file.close();
  }
}
