import { expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

/** Relative path to content, of every file below a directory. */
async function filesBelow(directory: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files[path.slice(directory.length + 1)] = await Bun.file(path).text();
  }
  return files;
}

test("gen/ is what proto/ generates; after a change of proto/ run `bun run gen`", async () => {
  const target = await mkdtemp(join(tmpdir(), "gen-in-sync-"));
  try {
    const buf = Bun.spawn(["node_modules/.bin/buf", "generate", "--output", target], {
      cwd: root,
      stdout: "pipe",
      stderr: "pipe",
    });
    const stderr = await new Response(buf.stderr).text();
    expect({ exitCode: await buf.exited, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const generated = await filesBelow(join(target, "gen"));
    expect(Object.keys(generated).length).toBeGreaterThan(0);
    expect(await filesBelow(join(root, "gen"))).toEqual(generated);
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}, 60_000);
