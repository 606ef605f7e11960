import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const READY_TIMEOUT_MS = 20_000;

/** What a program printed and how it ended. */
export interface ProgramEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `tribune` from source, in a process of its own. Killed when the test ends. */
export class RunningProgram implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #stdout: { text: string } = { text: "" };
  readonly #stderr: { text: string } = { text: "" };
  readonly #closed: Promise<unknown>;

  constructor(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.#child = Bun.spawn([process.execPath, MAIN, ...argv], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    this.#closed = Promise.all([
      collect(this.#child.stdout, this.#stdout),
      collect(this.#child.stderr, this.#stderr),
    ]);
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** @returns the first match on standard output. @throws Error with all output when it does not come in time. */
  async waitFor(pattern: RegExp): Promise<RegExpMatchArray> {
    const deadlineMs = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      const match = this.stdout.match(pattern);
      if (match !== null) return match;
      if (this.#child.exitCode !== null || Date.now() > deadlineMs) {
        throw new Error(`no ${pattern} in:\n${this.stdout}${this.stderr}`);
      }
      await Bun.sleep(10);
    }
  }

  async end(): Promise<ProgramEnd> {
    await Promise.all([this.#child.exited, this.#closed]);
    return { status: this.#child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}

async function collect(stream: ReadableStream<Uint8Array>, into: { text: string }): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) into.text += decoder.decode(chunk, { stream: true });
}
