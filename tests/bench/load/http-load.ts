import type { Socket } from "bun";

/** One load run against an HTTP/1.1 server. */
export interface HttpLoadOptions {
  readonly hostname: string;
  readonly port: number;
  /** The whole request, head and body; sent again and again on kept-alive connections. */
  readonly request: Uint8Array;
  /** Connections, each with one request in flight. */
  readonly concurrency: number;
  readonly requestCount: number;
}

/** What one load run saw. */
export interface HttpLoadResult {
  readonly requestCount: number;
  readonly wallNs: number;
  /** Latency quantiles in ns. */
  readonly p50Ns: number;
  readonly p99Ns: number;
  /** Responses whose status line is not 200. */
  readonly failedCount: number;
}

interface Connection {
  isWaiting: boolean;
  sentNs: number;
  /** Bytes of the present response still to come; −1 while its head is incomplete. */
  missingBytes: number;
  head: string;
}

const HEAD_END = "\r\n\r\n";

/** Request bytes of a POST. */
export function httpRequestBytes(
  path: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Uint8Array {
  const lines = [`POST ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${body.byteLength}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  return new Uint8Array(Buffer.concat([Buffer.from(lines.join("\r\n") + HEAD_END), body]));
}

/**
 * Sends the request `requestCount` times over `concurrency` raw sockets. Cheap on purpose, so that the server and
 * not the client is the limit: responses are not parsed beyond their status and Content-Length.
 *
 * @throws when a connection fails or closes before its response is complete.
 */
export async function runHttpLoad(options: HttpLoadOptions): Promise<HttpLoadResult> {
  const latenciesNs = new Float64Array(options.requestCount);
  let startedCount = 0;
  let doneCount = 0;
  let failedCount = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();

  const send = (socket: Socket<Connection>): void => {
    if (startedCount >= options.requestCount) {
      socket.end();
      return;
    }
    startedCount++;
    socket.data.isWaiting = true;
    socket.data.sentNs = Bun.nanoseconds();
    let at = socket.write(options.request);
    // A body larger than the socket buffer goes out in parts; `drain` would do, a small loop is simpler here.
    const rest = (): void => {
      if (at < 0) {
        reject(new Error("the server closed the connection"));
        return;
      }
      if (at >= options.request.byteLength) return;
      at += socket.write(options.request.subarray(at));
      setImmediate(rest);
    };
    rest();
  };

  const finish = (socket: Socket<Connection>): void => {
    socket.data.isWaiting = false;
    latenciesNs[doneCount++] = Bun.nanoseconds() - socket.data.sentNs;
    if (doneCount === options.requestCount) resolve();
    send(socket);
  };

  const receive = (socket: Socket<Connection>, chunk: Buffer): void => {
    const { data } = socket;
    if (data.missingBytes >= 0) {
      data.missingBytes -= chunk.byteLength;
      if (data.missingBytes === 0) {
        data.missingBytes = -1;
        finish(socket);
      }
      return;
    }
    data.head += chunk.toString("latin1", 0, chunk.byteLength);
    const end = data.head.indexOf(HEAD_END);
    if (end < 0) return;
    if (!data.head.startsWith("HTTP/1.1 200")) failedCount++;
    const length = /content-length: (\d+)/i.exec(data.head.slice(0, end));
    const missing = end + HEAD_END.length + Number(length?.[1] ?? 0) - data.head.length;
    data.head = "";
    if (missing > 0) {
      data.missingBytes = missing;
      return;
    }
    finish(socket);
  };

  const startNs = Bun.nanoseconds();
  for (let i = 0; i < options.concurrency; i++) {
    await Bun.connect<Connection>({
      hostname: options.hostname,
      port: options.port,
      data: { isWaiting: false, sentNs: 0, missingBytes: -1, head: "" },
      socket: {
        open: send,
        data: receive,
        error: (_socket, error) => reject(error),
        close: (socket) => {
          if (socket.data.isWaiting) reject(new Error("the server closed the connection"));
        },
      },
    });
  }
  await promise;
  const wallNs = Bun.nanoseconds() - startNs;
  latenciesNs.sort();
  const quantile = (q: number): number =>
    latenciesNs[Math.min(latenciesNs.length - 1, Math.floor(q * latenciesNs.length))] ?? 0;
  return {
    requestCount: options.requestCount,
    wallNs,
    p50Ns: quantile(0.5),
    p99Ns: quantile(0.99),
    failedCount,
  };
}

/** CPU time (user and system) that a process has used so far, in µs, from /proc. */
export async function processCpuMicroseconds(pid: number): Promise<number> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text();
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // Fields 14 and 15 of proc(5), in clock ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}
