import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readRegularFile } from "../../../../src/core/config/read-regular-file.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

let folder: TemporaryFolder;
beforeEach(() => {
  folder = new TemporaryFolder();
});
afterEach(() => folder.dispose());

describe("readRegularFile", () => {
  test("gives the bytes of a file", async () => {
    const path = folder.file("a", "text");
    expect(await readRegularFile(path)).toEqual(Buffer.from("text"));
  });

  test("does not wait at a pipe into which nobody writes", async () => {
    const path = `${folder.path}/pipe`;
    expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
    await expect(readRegularFile(path)).rejects.toThrow("it is not a regular file");
  });

  test("refuses a device and a directory, and names what is missing by its code", async () => {
    await expect(readRegularFile("/dev/zero")).rejects.toThrow("it is not a regular file");
    await expect(readRegularFile(folder.path)).rejects.toThrow();
    await expect(readRegularFile(`${folder.path}/none`)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
