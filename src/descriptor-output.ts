import { closeSync, openSync, writeSync } from "node:fs";
import type { LogOutput } from "./base/log-output.ts";
import type { LogSeverity } from "./base/log-record.ts";

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;

/** How often a full pipe is tried again, 1 ms apart, before a line is given up. */
const MAX_FULL_PIPE_TRIES = 20;

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

function isFullPipe(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}

/** Writes to file descriptors at once, so that nothing is lost when the process ends. */
export class DescriptorOutput implements LogOutput {
  readonly #informationFd: number;
  readonly #problemFd: number;
  readonly #ownsFds: boolean;
  #isClosed = false;
  #droppedCount = 0;

  private constructor(informationFd: number, problemFd: number, ownsFds: boolean) {
    this.#informationFd = informationFd;
    this.#problemFd = problemFd;
    this.#ownsFds = ownsFds;
  }

  /** INFO to standard output, the rest to standard error. */
  static console(): DescriptorOutput {
    return new DescriptorOutput(STANDARD_OUTPUT, STANDARD_ERROR, false);
  }

  /** All lines to the end of a file. @throws Error of the system when it cannot be opened. */
  static file(path: string): DescriptorOutput {
    const fd = openSync(path, "a");
    return new DescriptorOutput(fd, fd, true);
  }

  /** Lines that could not be written so far. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  write(severity: LogSeverity, line: string): void {
    if (this.#isClosed) return;
    const fd = severity === "INFO" ? this.#informationFd : this.#problemFd;
    let rest = Buffer.from(line);
    for (let tries = 0; rest.length > 0; ) {
      try {
        rest = rest.subarray(writeSync(fd, rest));
      } catch (error) {
        tries += 1;
        if (!isFullPipe(error) || tries > MAX_FULL_PIPE_TRIES) {
          this.#droppedCount += 1;
          return;
        }
        Atomics.wait(sleepCell, 0, 0, 1);
      }
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#ownsFds) closeSync(this.#informationFd);
  }
}
