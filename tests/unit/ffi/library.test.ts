import { describe, expect, test } from "bun:test";
import { type LibrarySearch, openLibrary, systemLibraryFolders } from "#ffi/library.ts";
import { TemporaryFolder } from "../../support/temporary-folder.ts";

function search(change: Partial<LibrarySearch>): LibrarySearch {
  return {
    name: "onnxruntime",
    fileName: "libonnxruntime.so",
    versions: ["1"],
    settings: [],
    folders: [],
    sources: [],
    ...change,
  };
}

/** Opens everything but paths with "bad" in them. */
function open(path: string): string {
  if (path.includes("bad")) throw new Error("invalid ELF header");
  return path;
}

const EMBEDDED = { description: "the embedded copy", locate: async () => "/embedded/lib.so" };

describe("a setting", () => {
  test("comes before everything else", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("mine.so");
    const settings = [
      { name: "flag", value: undefined },
      { name: "VARIABLE", value: path },
    ];
    const found = await openLibrary(
      search({ settings, folders: [folder.path], sources: [EMBEDDED] }),
      open,
    );
    expect(found).toBe(path);
  });

  test("may name a folder, whose newest version is taken", async () => {
    using folder = new TemporaryFolder();
    for (const version of ["1.9.0", "1.32.0", "1.4.0"]) {
      folder.file(`libonnxruntime.so.${version}`);
    }
    folder.file("libonnxruntime.so.txt");
    const settings = [{ name: "VARIABLE", value: folder.path }];
    expect(await openLibrary(search({ settings }), open)).toBe(
      `${folder.path}/libonnxruntime.so.1.32.0`,
    );
  });

  test("is binding: what it names must load", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("bad.so");
    const settings = [{ name: "VARIABLE", value: path }];
    await expect(openLibrary(search({ settings, sources: [EMBEDDED] }), open)).rejects.toThrow(
      `the onnxruntime library cannot be loaded from VARIABLE=${path}: ${path} (invalid ELF header)`,
    );
  });

  test.each([
    ["relative.so", "the path must be absolute"],
    ["/no/such/file.so", "no such file or folder"],
    ["/proc/self/task", "the folder has no libonnxruntime.so"],
  ])("%s is refused: %s", async (value, reason) => {
    const settings = [{ name: "flag", value }];
    await expect(openLibrary(search({ settings, sources: [EMBEDDED] }), open)).rejects.toThrow(
      `the onnxruntime library cannot be loaded from flag=${value}: ${reason}`,
    );
  });
});

test("system folders come before the embedded copy, and a broken file is passed over", async () => {
  using folder = new TemporaryFolder();
  folder.file("bad/libonnxruntime.so.1");
  const good = folder.file("good/libonnxruntime.so");
  const folders = [`${folder.path}/none`, `${folder.path}/bad`, `${folder.path}/good`];
  expect(await openLibrary(search({ folders, sources: [EMBEDDED] }), open)).toBe(good);
});

test("the embedded copy is the last resort", async () => {
  const folders = ["/no/such/folder"];
  expect(await openLibrary(search({ folders, sources: [EMBEDDED] }), open)).toBe(
    "/embedded/lib.so",
  );
});

test("the error lists every place in order, and what was wrong with it", async () => {
  using folder = new TemporaryFolder();
  folder.file("bad/libonnxruntime.so.1");
  const closed = {
    description: "the embedded copy",
    locate: () => Promise.reject(new Error("read-only file system")),
  };
  const attempt = openLibrary(
    search({
      settings: [{ name: "VARIABLE", value: "" }],
      folders: ["/no/such/folder", `${folder.path}/bad`],
      sources: [closed],
    }),
    open,
  );
  await expect(attempt).rejects.toThrow(
    "the onnxruntime library was not found. Tried, in this order: VARIABLE (not set); " +
      "/no/such/folder (no libonnxruntime.so); " +
      `${folder.path}/bad/libonnxruntime.so.1 (invalid ELF header); ` +
      "the embedded copy (read-only file system)",
  );
});

test("LD_LIBRARY_PATH leads the system folders, without its relative parts", () => {
  const folders = systemLibraryFolders({ LD_LIBRARY_PATH: "/opt/a:.::lib:/opt/b" });
  expect(folders.slice(0, 3)).toEqual(["/opt/a", "/opt/b", "/usr/local/lib"]);
});
