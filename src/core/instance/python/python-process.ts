import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceError } from "../../../base/error.ts";
import type { Logger } from "../../../base/log.ts";
import { type Frame, FrameReader } from "./python-frames.ts";

/** How a Python process is started. */
export interface PythonProcessOptions {
  /** The interpreter: a name to be found on PATH, or a path. */
  readonly python: string;
  /** Folder that holds `tribune_stub.py` and its modules. */
  readonly stubDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Name in log lines and errors, for example `densenet_0`. */
  readonly name: string;
  readonly firstSegmentBytes: number;
  readonly threadPoolSize: number;
  /** Limit for the process to call back, in ms. */
  readonly startTimeoutMs: number;
  readonly logger: Logger;
}

/** Who is told of what a process says and of its end. */
export interface PythonProcessListener {
  onFrame(frame: Frame): void;
  /** The process is gone. Called once, also after `stop`. */
  onExit(description: string): void;
}

const KILL_AFTER_MS = 5_000;
/** A printed line that is longer is logged in pieces, so that one without an end takes no memory. */
const MAX_LINE_CHARS = 1 << 16;

/** One CPython process and its socket. */
export class PythonProcess {
  readonly name: string;
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #socket: Bun.Socket<undefined>;
  readonly #pending: Uint8Array[] = [];
  #listener: PythonProcessListener;
  #hasExited = false;

  private constructor(
    name: string,
    child: Bun.Subprocess<"ignore", "pipe", "pipe">,
    socket: Bun.Socket<undefined>,
    listener: PythonProcessListener,
  ) {
    this.name = name;
    this.#child = child;
    this.#socket = socket;
    this.#listener = listener;
  }

  /** @throws InferenceError INTERNAL when the interpreter is missing, ends at once or does not call back in time. */
  static async start(
    options: PythonProcessOptions,
    listener: PythonProcessListener,
  ): Promise<PythonProcess> {
    // A folder of its own, readable by this user alone, guards the socket until the process has called back.
    const folder = mkdtempSync(join(tmpdir(), "tribune-python-"));
    const path = join(folder, "socket");
    try {
      return await startIn(path, options, listener, (child, socket) => {
        return new PythonProcess(options.name, child, socket, listener);
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Sends a frame; what the socket does not take at once waits in order. */
  send(frame: Uint8Array): void {
    if (this.#hasExited) return;
    if (this.#pending.length > 0) {
      this.#pending.push(frame);
      return;
    }
    const writtenBytes = this.#socket.write(frame);
    // A view of a frame is safe to keep: nobody writes to it again.
    if (writtenBytes < frame.length) this.#pending.push(frame.subarray(Math.max(0, writtenBytes)));
  }

  /** Called by the socket when it takes bytes again. */
  drain(): void {
    while (this.#pending.length > 0) {
      const frame = this.#pending[0];
      if (frame === undefined) return;
      const writtenBytes = Math.max(0, this.#socket.write(frame));
      if (writtenBytes < frame.length) {
        this.#pending[0] = frame.subarray(writtenBytes);
        return;
      }
      this.#pending.shift();
    }
  }

  /** Called once when the process or its socket has ended. */
  exited(description: string): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#pending.length = 0;
    this.#socket.terminate();
    this.#listener.onExit(description);
  }

  /** Waits for the process to end by itself, and kills it when it does not. */
  async ended(graceMs = KILL_AFTER_MS): Promise<void> {
    const timer = setTimeout(() => this.kill(), graceMs);
    try {
      await this.#child.exited;
    } finally {
      clearTimeout(timer);
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

type MakeProcess = (
  child: Bun.Subprocess<"ignore", "pipe", "pipe">,
  socket: Bun.Socket<undefined>,
) => PythonProcess;

async function startIn(
  path: string,
  options: PythonProcessOptions,
  listener: PythonProcessListener,
  make: MakeProcess,
): Promise<PythonProcess> {
  let made: PythonProcess | undefined;
  const reader = new FrameReader((frame) => listener.onFrame(frame));
  const connected = Promise.withResolvers<Bun.Socket<undefined>>();
  const server: Bun.UnixSocketListener<undefined> = Bun.listen<undefined>({
    unix: path,
    socket: {
      open: (socket) => connected.resolve(socket),
      data: (_, chunk) => {
        try {
          reader.push(chunk);
        } catch (error) {
          options.logger.error("a Python process sent what is no frame", {
            instance: options.name,
            error: String(error),
          });
          made?.kill();
        }
      },
      drain: () => made?.drain(),
      close: () => undefined,
      error: (_, error) => connected.reject(error),
    },
  });
  try {
    const child = spawn(path, options);
    const timer = setTimeout(
      () => connected.reject(new Error(`no answer within ${options.startTimeoutMs} ms`)),
      options.startTimeoutMs,
    );
    void child.exited.then(() => connected.reject(new Error(endOf(child))));
    try {
      made = make(child, await connected.promise);
    } catch (error) {
      child.kill("SIGKILL");
      throw new InferenceError(
        "INTERNAL",
        `the Python process of '${options.name}' (${options.python}) did not start: ${textOf(error)}`,
        { cause: error, reason: "BACKEND" },
      );
    } finally {
      clearTimeout(timer);
    }
    const running = made;
    void child.exited.then(() => running.exited(endOf(child)));
    return running;
  } finally {
    // Only the listening socket ends; the accepted connection lives on.
    server.stop();
  }
}

function spawn(
  path: string,
  options: PythonProcessOptions,
): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  try {
    const child = Bun.spawn(
      [
        options.python,
        ...["-X", "utf8", join(options.stubDirectory, "tribune_stub.py"), path],
        String(options.firstSegmentBytes),
        String(options.threadPoolSize),
      ],
      {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
        env: { ...options.environment, PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" },
      },
    );
    for (const stream of [child.stdout, child.stderr]) {
      logLines(stream, options).catch((error: unknown) => {
        options.logger.warning("cannot read what a Python process prints", {
          instance: options.name,
          error: textOf(error),
        });
      });
    }
    return child;
  } catch (error) {
    throw new InferenceError(
      "INTERNAL",
      `cannot run '${options.python}' for '${options.name}': ${textOf(error)}. Python models need python3 with numpy on PATH.`,
      { cause: error, reason: "BACKEND" },
    );
  }
}

/** What a model prints becomes log lines under its name. */
async function logLines(
  stream: ReadableStream<Uint8Array>,
  options: PythonProcessOptions,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) options.logger.info(line, { instance: options.name });
    if (rest.length > MAX_LINE_CHARS) {
      options.logger.info(rest, { instance: options.name });
      rest = "";
    }
  }
  if (rest !== "") options.logger.info(rest, { instance: options.name });
}

function endOf(child: Bun.Subprocess): string {
  return child.signalCode === null
    ? `it exited with code ${child.exitCode}`
    : `it was ended by ${child.signalCode}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
