import http2 from "node:http2";
import type { ServerProcess } from "../bench/end-to-end/server-process.ts";
import { grpcCase } from "./grpc-grammar.ts";
import { type HttpCase, httpCase } from "./http-grammar.ts";
import { Random } from "./random.ts";

/** How a fuzz run went. */
export interface FuzzReport {
  readonly sent: number;
  /** Answers by HTTP status, or by gRPC status; `closed` where the connection ended without one. */
  readonly answers: Readonly<Record<string, number>>;
}

const HTTP_CONNECTIONS = 16;
const ANSWER_TIMEOUT_MS = 10_000;

/** Sends `count` requests of the HTTP grammar over several connections at once. */
export async function fuzzHttp(
  server: ServerProcess,
  seed: number,
  count: number,
): Promise<FuzzReport> {
  const answers: Record<string, number> = {};
  const perConnection = Math.ceil(count / HTTP_CONNECTIONS);
  const lanes = Array.from({ length: HTTP_CONNECTIONS }, async (_, lane) => {
    const random = new Random(seed + lane);
    for (let i = 0; i < perConnection; ) {
      // A connection carries cases until one breaks it or the server closes it.
      const burst: HttpCase[] = [];
      while (burst.length < 20 && i < perConnection) {
        const next = httpCase(random);
        burst.push(next);
        i++;
        if (next.breaksConnection) break;
      }
      await sendBurst(server.httpPort, burst, answers);
    }
  });
  await Promise.all(lanes);
  return { sent: perConnection * HTTP_CONNECTIONS, answers };
}

/** One answer is awaited for each case; a closed connection ends the burst and the rest goes on a fresh one. */
async function sendBurst(
  port: number,
  burst: readonly HttpCase[],
  answers: Record<string, number>,
): Promise<void> {
  let index = 0;
  while (index < burst.length) {
    const connection = await HttpConnection.open(port);
    try {
      while (index < burst.length) {
        const next = burst[index++];
        if (next === undefined) break;
        const status = await connection.exchange(next);
        count(answers, status);
        if (status === "closed" || status === "silent" || next.breaksConnection) break;
      }
    } finally {
      connection.close();
    }
  }
}

class HttpConnection {
  #socket: Bun.Socket<undefined> | undefined;
  #received = "";
  #isClosed = false;
  #wake: (() => void) | undefined;

  static async open(port: number): Promise<HttpConnection> {
    const connection = new HttpConnection();
    connection.#socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data: (_, chunk) => {
          connection.#received += chunk.toString("latin1");
          connection.#wake?.();
        },
        close: () => connection.#end(),
        error: () => connection.#end(),
      },
    });
    return connection;
  }

  /** The status of the answer; `closed` or `silent` where none came. */
  async exchange(request: HttpCase): Promise<string> {
    this.#received = "";
    this.#socket?.write(request.payload);
    this.#socket?.flush();
    // Broken framing may leave the server waiting for more: half-closing tells it that nothing comes.
    if (request.breaksConnection) this.#socket?.shutdown(true);
    const deadline = performance.now() + ANSWER_TIMEOUT_MS;
    while (true) {
      const status = finalStatus(this.#received);
      if (status !== undefined) {
        await this.#quiet(request.hasNoBody);
        return status;
      }
      if (this.#isClosed) return "closed";
      if (performance.now() > deadline) return "silent";
      await this.#change(deadline - performance.now());
    }
  }

  close(): void {
    this.#socket?.end();
    this.#socket?.terminate();
  }

  #end(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  /** Waits until the whole answer is here, as the length of its body or its last chunk tells. */
  async #quiet(hasNoBody: boolean): Promise<void> {
    const deadline = performance.now() + 1000;
    const isWhole = (): boolean =>
      hasNoBody ? this.#received.includes("\r\n\r\n") : isComplete(this.#received);
    while (!this.#isClosed && !isWhole() && performance.now() < deadline) await this.#change(50);
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, timeoutMs));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function finalStatus(text: string): string | undefined {
  for (const match of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) if (match[1] !== "100") return match[1];
  return undefined;
}

function isComplete(text: string): boolean {
  const end = text.lastIndexOf("\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(text);
  if (length !== null) return text.length >= text.indexOf("\r\n\r\n") + 4 + Number(length[1]);
  return !/transfer-encoding: chunked/i.test(text) || text.includes("0\r\n\r\n", end - 3);
}

/** Sends `count` calls of the gRPC grammar, many at once on one connection after the other. */
export async function fuzzGrpc(
  server: ServerProcess,
  seed: number,
  count: number,
): Promise<FuzzReport> {
  const random = new Random(seed);
  const answers: Record<string, number> = {};
  const perSession = 500;
  for (let sent = 0; sent < count; sent += perSession) {
    const session = http2.connect(`http://127.0.0.1:${server.grpcPort}`);
    session.on("error", ignore);
    const width = 25;
    for (let at = 0; at < perSession; at += width) {
      await Promise.all(Array.from({ length: width }, () => callOnce(session, random, answers)));
    }
    session.destroy();
  }
  return { sent: Math.ceil(count / perSession) * perSession, answers };
}

function callOnce(
  session: http2.ClientHttp2Session,
  random: Random,
  answers: Record<string, number>,
): Promise<void> {
  const next = grpcCase(random);
  return new Promise((resolve) => {
    let status = "closed";
    const timer = setTimeout(() => finish("silent"), ANSWER_TIMEOUT_MS);
    const finish = (word: string): void => {
      clearTimeout(timer);
      count(answers, word);
      stream?.close();
      resolve();
    };
    let stream: http2.ClientHttp2Stream | undefined;
    try {
      stream = session.request(next.headers);
    } catch {
      finish("closed");
      return;
    }
    stream.on("response", (headers) => {
      status = `grpc ${headers["grpc-status"] ?? `http ${headers[":status"]}`}`;
    });
    stream.on("trailers", (trailers) => {
      status = `grpc ${trailers["grpc-status"]}`;
    });
    stream.on("error", ignore);
    stream.on("close", () => finish(status));
    stream.resume();
    if (next.isReset) {
      stream.write(next.body);
      stream.close(http2.constants.NGHTTP2_CANCEL);
    } else {
      stream.end(next.body);
    }
  });
}

function ignore(): void {
  // A refused or reset call is an answer here, not a failure of the run.
}

function count(answers: Record<string, number>, word: string): void {
  answers[word] = (answers[word] ?? 0) + 1;
}
