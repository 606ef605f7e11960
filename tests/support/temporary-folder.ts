import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder of a test's own, removed by `using` or `dispose`. */
export class TemporaryFolder implements Disposable {
  /** Absolute. */
  readonly path = mkdtempSync(join(tmpdir(), "tribune-test-"));

  /** Writes a file and the folders above it. @returns its absolute path. */
  file(relativePath: string, content: string | Uint8Array = ""): string {
    const path = join(this.path, relativePath);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Makes a folder and those above it. @returns its absolute path. */
  directory(relativePath: string): string {
    const path = join(this.path, relativePath);
    mkdirSync(path, { recursive: true });
    return path;
  }

  remove(relativePath: string): void {
    rmSync(join(this.path, relativePath), { recursive: true, force: true });
  }

  /** Gives a file or folder a modification time later than anything before. */
  touch(relativePath: string): void {
    const later = new Date(Date.now() + 5000);
    utimesSync(join(this.path, relativePath), later, later);
  }

  dispose(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
