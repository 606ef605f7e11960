import { totalmem } from "node:os";
import { GrpcContext, type GrpcServiceOptions } from "./grpc-context.ts";
import { CallRouter } from "./wire/call-router.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./wire/connection.ts";
import { type GrpcTlsFiles, Http2Listener } from "./wire/http2-listener.ts";

/** What the gRPC port is made of. */
export interface GrpcFrontendOptions extends GrpcServiceOptions {
  /** `--grpc-address`. */
  readonly address: string;
  /** `--grpc-port`; 0 takes any free one. */
  readonly port: number;
  /** `--reuse-grpc-port`. */
  readonly reusePort?: boolean;
  /** `--grpc-use-ssl` and what goes with it; undefined = plaintext. */
  readonly tls?: GrpcTlsFiles | undefined;
  /** Keepalive and age of connections; Triton's defaults where nothing is said. */
  readonly limits?: Partial<ConnectionLimits>;
  /** Bytes of long messages being received, inferred or sent, all together. A quarter of the memory by default. */
  readonly maxInflightBytes?: number;
  /** False carries ModelInfer and ModelStreamInfer by ConnectRPC, like the rest. For tests and comparisons. */
  readonly hotPath?: boolean;
}

const INFLIGHT_SHARE_OF_MEMORY = 0.25;
/** Calls in flight have had the server's exit timeout before the port is stopped; this is for what is on its way out. */
const DEFAULT_GRACE_MS = 5000;

/** A gRPC port that serves. */
export interface GrpcFrontend {
  readonly address: string;
  readonly port: number;
  /** Open client connections. */
  readonly connectionCount: number;
  /** Bytes of long messages being received, inferred or sent. */
  readonly inflightBytes: number;
  /**
   * Takes no more connections and calls and tells clients so (GOAWAY); lets calls in flight finish, for at most
   * `graceMs`; streams end when nothing is in flight on them. Resolves when all connections have gone. Idempotent.
   */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Opens the gRPC port: GRPCInferenceService and the health service, by gRPC, gRPC-web and Connect.
 *
 * @throws InferenceError INVALID_ARG for a bad forwarding pattern or an unreadable PEM file; the system's error when the
 *   address cannot be listened on.
 */
export async function startGrpcFrontend(options: GrpcFrontendOptions): Promise<GrpcFrontend> {
  const context = new GrpcContext(options);
  const router = new CallRouter({
    context,
    hasHotPath: options.hotPath ?? true,
    maxInflightBytes: options.maxInflightBytes ?? totalmem() * INFLIGHT_SHARE_OF_MEMORY,
  });
  const listener = new Http2Listener({
    address: options.address,
    port: options.port,
    reusePort: options.reusePort ?? false,
    tls: options.tls,
    logger: context.logger,
    connection: {
      limits: { ...DEFAULT_CONNECTION_LIMITS, ...options.limits },
      clock: context.clock,
      onStream: (stream, headers, rawHeaders) => router.route(stream, headers, rawHeaders),
    },
  });
  const port = await listener.listen();
  let stopped: Promise<void> | undefined;
  return {
    address: options.address,
    port,
    get connectionCount() {
      return listener.connectionCount;
    },
    get inflightBytes() {
      return router.inflightBytes;
    },
    stop(graceMs = DEFAULT_GRACE_MS) {
      router.drain();
      stopped ??= listener.stop(graceMs);
      return stopped;
    },
  };
}
