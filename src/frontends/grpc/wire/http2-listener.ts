import { readFileSync } from "node:fs";
import {
  createSecureServer,
  type Http2SecureServer,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerOptions,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TCPSocketListener, TCPSocketListenOptions } from "bun";
import { InferenceError } from "../../../base/error.ts";
import type { Logger } from "../../../base/log.ts";
import { BatchingSocket } from "./batching-socket.ts";
import { callStatusFrom } from "./call-status.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";

/** PEM files of the gRPC port's TLS, by path. */
export interface GrpcTlsFiles {
  readonly serverCert: string;
  readonly serverKey: string;
  /** Authorities whose clients are known; needed where {@link isMutual}. */
  readonly rootCert?: string;
  /** Clients must show a certificate. */
  readonly isMutual: boolean;
}

/** Where and how to listen. */
export interface Http2ListenerOptions {
  readonly address: string;
  /** 0 takes any free one. */
  readonly port: number;
  readonly reusePort: boolean;
  readonly tls: GrpcTlsFiles | undefined;
  readonly logger: Logger;
  readonly connection: Omit<ConnectionOptions, "windowBytes" | "logger">;
}

/** Both windows of a connection: at the default of 64 KiB a large message costs a third more. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Calls of one connection at once; further ones wait in the client. */
const MAX_CONCURRENT_STREAMS = 1000;
const MAX_HEADER_LIST_BYTES = 64 * 1024;
/**
 * Resets a client may send at once and per second. At node's defaults (1000 and 33) a client that cancels much loses
 * its connection, and with it all its other calls.
 */
const STREAM_RESET_BURST = 100_000;
const STREAM_RESET_RATE = 10_000;

/**
 * Megabytes that node's http2 may hold for one connection. At its default of 10 it closes further streams without a word,
 * and with them answers that are queued behind a slow reader (seen with eight answers of 5 MB). What may be held is
 * bounded by the byte budget and the slices of the calls instead.
 */
const MAX_SESSION_MEMORY_MEGABYTES = 100_000;

/** Bun.listen takes `reusePort`; its types do not say so. */
type PlainListenOptions = TCPSocketListenOptions<BatchingSocket | undefined> & {
  readonly reusePort: boolean;
};

/** Options that node's http2 knows and its types do not. */
interface ResetLimits {
  readonly streamResetBurst: number;
  readonly streamResetRate: number;
}

const SERVER_OPTIONS = {
  settings: {
    initialWindowSize: WINDOW_BYTES,
    maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
    maxHeaderListSize: MAX_HEADER_LIST_BYTES,
  },
  maxSessionMemory: MAX_SESSION_MEMORY_MEGABYTES,
  streamResetBurst: STREAM_RESET_BURST,
  streamResetRate: STREAM_RESET_RATE,
  strictSingleValueFields: false,
} satisfies ServerOptions & ResetLimits;

const SERVER_EXITING = callStatusFrom(new InferenceError("UNAVAILABLE", "Server exiting"));

function readPem(what: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw new InferenceError("INVALID_ARG", `cannot read ${what} '${path}' of the gRPC port`, {
      cause: thrown,
    });
  }
}

function createTlsServer(tls: GrpcTlsFiles): Http2SecureServer {
  return createSecureServer({
    ...SERVER_OPTIONS,
    cert: readPem("--grpc-server-cert", tls.serverCert),
    key: readPem("--grpc-server-key", tls.serverKey),
    ...(tls.rootCert ? { ca: readPem("--grpc-root-cert", tls.rootCert) } : {}),
    requestCert: tls.isMutual,
    rejectUnauthorized: tls.isMutual,
  });
}

/** The HTTP/2 server of the gRPC port and its connections. */
export class Http2Listener {
  readonly #options: Http2ListenerOptions;
  readonly #tlsServer: Http2SecureServer | undefined;
  readonly #connections = new Set<Connection>();
  #plainListener: TCPSocketListener<BatchingSocket | undefined> | undefined;
  #whenEmpty: (() => void) | undefined;

  /** @throws InferenceError INVALID_ARG when a PEM file cannot be read. */
  constructor(options: Http2ListenerOptions) {
    this.#options = options;
    this.#tlsServer = options.tls && createTlsServer(options.tls);
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** @returns the port. @throws Error of the system, EADDRINUSE for example. */
  async listen(): Promise<number> {
    return this.#tlsServer ? await this.#listenTls(this.#tlsServer) : this.#listenPlain();
  }

  /**
   * Takes no more connections or calls, lets those in flight finish, and ends what is left after `graceMs`. Resolves when
   * all connections have gone.
   */
  async stop(graceMs: number): Promise<void> {
    this.#plainListener?.stop();
    this.#tlsServer?.close();
    for (const connection of this.#connections) connection.close();
    if (this.#connections.size === 0) return;
    const timer = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy(SERVER_EXITING);
    }, graceMs);
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    clearTimeout(timer);
  }

  /** Without TLS the sockets are ours, so that the answers of one turn leave together. */
  #listenPlain(): number {
    const { address, port, reusePort } = this.#options;
    const listenOptions: PlainListenOptions = {
      hostname: address,
      port,
      reusePort,
      socket: {
        open: (socket) => {
          socket.data = new BatchingSocket(socket);
          this.#onSession(performServerHandshake(socket.data, SERVER_OPTIONS));
        },
        data: (socket, chunk) => socket.data?.onData(chunk),
        drain: (socket) => socket.data?.onDrain(),
        close: (socket) => socket.data?.onClose(),
        error: (_socket, error) => this.#reportFailure(error),
      },
    };
    this.#plainListener = Bun.listen(listenOptions);
    return this.#plainListener.port;
  }

  #listenTls(server: Http2SecureServer): Promise<number> {
    const { address, port, reusePort } = this.#options;
    const report = (error: unknown) => this.#reportFailure(error);
    server.on("session", (session) => this.#onSession(session));
    // Faults of a single client; unheard they would end the process.
    server.on("sessionError", report);
    server.on("clientError", report);
    server.on("tlsClientError", report);
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: address, port, reusePort }, () => {
        server.off("error", reject);
        server.on("error", report);
        resolve((server.address() as AddressInfo).port);
      });
    });
  }

  #reportFailure(error: unknown): void {
    this.#options.logger.verbose(1, "gRPC client connection failed", { error: String(error) });
  }

  #onSession(session: ServerHttp2Session): void {
    const { connection: options, logger } = this.#options;
    const connection = new Connection(session, { ...options, logger, windowBytes: WINDOW_BYTES });
    this.#connections.add(connection);
    session.once("close", () => {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#whenEmpty?.();
    });
  }
}
