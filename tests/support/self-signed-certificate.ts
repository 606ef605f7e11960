import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TemporaryFolder } from "./temporary-folder.ts";

/** A certificate for `localhost` that signs itself, made by openssl. Removed by `using`. */
export class SelfSignedCertificate implements Disposable {
  readonly certPath: string;
  readonly keyPath: string;
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly #folder: TemporaryFolder;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
    this.certPath = join(folder.path, "cert.pem");
    this.keyPath = join(folder.path, "key.pem");
    this.cert = readFileSync(this.certPath);
    this.key = readFileSync(this.keyPath);
  }

  /** @returns undefined where there is no openssl. */
  static create(): SelfSignedCertificate | undefined {
    if (Bun.which("openssl") === null) return undefined;
    const folder = new TemporaryFolder();
    const made = Bun.spawnSync(
      [
        "openssl",
        ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
        ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        ...["-keyout", "key.pem", "-out", "cert.pem"],
      ],
      { cwd: folder.path, stdout: "ignore", stderr: "pipe" },
    );
    if (!made.success) throw new Error(`openssl failed: ${made.stderr.toString()}`);
    return new SelfSignedCertificate(folder);
  }

  [Symbol.dispose](): void {
    this.#folder.dispose();
  }
}
