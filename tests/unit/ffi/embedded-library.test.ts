import { describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { cacheFolders, extractLibrary } from "#ffi/embedded-library.ts";
import { TemporaryFolder } from "../../support/temporary-folder.ts";

const USER_ID = process.getuid?.() ?? 0;

function library(text = "the library") {
  const sha256 = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return { fileName: "libx.so.1", sha256, content: new Blob([text]) };
}

describe("the cache folders", () => {
  const at = { temporaryFolder: "/tmp", userId: 1000 };

  test("are the user's cache, then one of our own among the temporary files", () => {
    const environment = { XDG_CACHE_HOME: "/cache", HOME: "/home/a" };
    expect(cacheFolders({ ...at, environment })).toEqual([
      "/cache/tribune",
      "/home/a/.cache/tribune",
      "/tmp/tribune-1000",
    ]);
  });

  test("without a home, and with relative paths, leave the temporary one", () => {
    expect(cacheFolders({ ...at, environment: {} })).toEqual(["/tmp/tribune-1000"]);
    const environment = { XDG_CACHE_HOME: "cache", HOME: "" };
    expect(cacheFolders({ ...at, environment })).toEqual(["/tmp/tribune-1000"]);
  });
});

describe("an embedded library", () => {
  test("is written under its own name into a private folder named by its hash", async () => {
    using folder = new TemporaryFolder();
    const { sha256, ...rest } = library();
    const path = await extractLibrary({ sha256, ...rest }, `${folder.path}/cache`, USER_ID);
    expect(path).toBe(`${folder.path}/cache/${sha256.slice(0, 16)}/libx.so.1`);
    expect(await Bun.file(path).text()).toBe("the library");
    expect(statSync(`${folder.path}/cache`).mode & 0o777).toBe(0o700);
    expect(readdirSync(`${folder.path}/cache/${sha256.slice(0, 16)}`).sort()).toEqual([
      "libx.so.1",
      "libx.so.1.verified",
    ]);
  });

  test("that is there already is used as it is, without being hashed", async () => {
    using folder = new TemporaryFolder();
    const cache = folder.directory("cache");
    chmodSync(cache, 0o700);
    const path = await extractLibrary(library(), cache, USER_ID);
    const before = statSync(path);
    const content = new Blob(["not read"]);
    content.slice = () => {
      throw new Error("not wanted");
    };
    await extractLibrary({ ...library(), content }, cache, USER_ID);
    expect(statSync(path).ino).toBe(before.ino);
  });

  test("that was changed is replaced, even when size and time were kept", async () => {
    using folder = new TemporaryFolder();
    const cache = `${folder.path}/cache`;
    const path = await extractLibrary(library(), cache, USER_ID);
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "the LIBRARY");
    utimesSync(path, atime, mtime);
    expect(await extractLibrary(library(), cache, USER_ID)).toBe(path);
    expect(await Bun.file(path).text()).toBe("the library");
  });

  test("is not taken from bytes that have another hash", async () => {
    using folder = new TemporaryFolder();
    const wrong = { ...library(), content: new Blob(["something else"]) };
    const attempt = extractLibrary(wrong, `${folder.path}/cache`, USER_ID);
    await expect(attempt).rejects.toThrow("has not the expected sha256");
  });

  test("is extracted once when several hosts start at the same time", async () => {
    using folder = new TemporaryFolder();
    const cache = `${folder.path}/cache`;
    const paths = await Promise.all(
      Array.from({ length: 8 }, () => extractLibrary(library(), cache, USER_ID)),
    );
    expect(new Set(paths).size).toBe(1);
    expect(await Bun.file(paths[0] ?? "").text()).toBe("the library");
  });

  test("is not looked for in a folder that others can write, or that is another user's", async () => {
    using folder = new TemporaryFolder();
    const open = folder.directory("open");
    chmodSync(open, 0o777);
    await expect(extractLibrary(library(), open, USER_ID)).rejects.toThrow(
      `${open} can be written by other users`,
    );
    const foreign = folder.directory("foreign");
    chmodSync(foreign, 0o700);
    await expect(extractLibrary(library(), foreign, USER_ID + 1)).rejects.toThrow(
      `${foreign} belongs to user ${USER_ID}`,
    );
  });

  test("says why a folder will not do", async () => {
    using folder = new TemporaryFolder();
    const blocked = folder.file("blocked");
    await expect(extractLibrary(library(), blocked, USER_ID)).rejects.toThrow(/ENOTDIR|EEXIST/);
  });
});
