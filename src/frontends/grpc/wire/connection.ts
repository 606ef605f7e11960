import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { GRPC_STATUS } from "../../status.ts";
import { type CallStatus, refuseCall } from "./call-status.ts";

/** When a connection is asked whether it lives, and when it must go. All in ms. */
export interface ConnectionLimits {
  /** `--grpc-keepalive-time`: a connection without a sign of life is pinged after so long. */
  readonly keepaliveTimeMs: number;
  /** `--grpc-keepalive-timeout`: a ping must be answered within this. */
  readonly keepaliveTimeoutMs: number;
  /** `--grpc-keepalive-permit-without-calls`: idle connections are pinged too, and may ping. */
  readonly keepalivePermitWithoutCalls: boolean;
  /** `--grpc-http2-min-recv-ping-interval-without-data`: a client's pings may not come more often. */
  readonly minRecvPingIntervalMs: number;
  /** `--grpc-http2-max-ping-strikes`: so many pings too many end the connection; 0 = none does. */
  readonly maxPingStrikeCount: number;
  /** `--grpc-max-connection-age`; 0 = a connection is never too old. */
  readonly maxConnectionAgeMs: number;
  /** `--grpc-max-connection-age-grace`: calls of a connection that is too old may last so long; 0 = for ever. */
  readonly maxConnectionAgeGraceMs: number;
}

/** Triton's defaults. */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  keepaliveTimeMs: 7_200_000,
  keepaliveTimeoutMs: 20_000,
  keepalivePermitWithoutCalls: false,
  minRecvPingIntervalMs: 300_000,
  maxPingStrikeCount: 2,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
};

/** What a connection is made with. */
export interface ConnectionOptions {
  readonly limits: ConnectionLimits;
  readonly windowBytes: number;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly onStream: (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ) => void;
}

const NS_PER_MS = 1e6;
/** gRPC's least interval of pings on an idle connection. */
const IDLE_PING_INTERVAL_MS = 7_200_000;
/** gRPC spreads the end of old connections by a tenth, so that clients do not come back all at once. */
const AGE_SPREAD = 0.1;
const PING_FRAME_BYTES = 17;
const MAX_TIMER_MS = 0x7fffffff;

function unavailable(message: string): CallStatus {
  return { code: GRPC_STATUS.unavailable, message };
}

const TOO_OLD = unavailable("the connection has reached its greatest age");
const NO_ANSWER = unavailable("the connection does not answer keepalive pings");
const TOO_MANY_PINGS = unavailable("the connection sends too many pings");

/** One client connection: pings it, counts its pings, ends it when it is too old, and hands its streams on. */
export class Connection {
  readonly #session: ServerHttp2Session;
  readonly #options: ConnectionOptions;
  readonly #timers = new Set<Timer>();
  readonly #openStreams = new Set<ServerHttp2Stream>();
  #lastPingNs: number | undefined;
  /** Bytes sent by then. */
  #lastPingSentBytes = 0;
  #pingStrikeCount = 0;

  /** One listener for all streams, called on the stream. */
  readonly #onStreamClose: (this: ServerHttp2Stream) => void;

  constructor(session: ServerHttp2Session, options: ConnectionOptions) {
    const openStreams = this.#openStreams;
    this.#onStreamClose = function onClose(this: ServerHttp2Stream): void {
      openStreams.delete(this);
    };
    this.#session = session;
    this.#options = options;
    session.setLocalWindowSize(options.windowBytes);
    session.on("stream", (stream, headers, _flags, rawHeaders) => {
      this.#openStreams.add(stream);
      stream.on("close", this.#onStreamClose);
      options.onStream(stream, headers, rawHeaders);
    });
    session.on("ping", () => this.#onPing());
    session.on("error", (error) => {
      options.logger.verbose(1, "gRPC connection failed", { error: String(error) });
    });
    session.on("close", () => this.#clearTimers());
    this.#armKeepalive();
    this.#armAge();
  }

  /** Lets the calls in flight finish and takes no more; the client is told (GOAWAY). */
  close(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Ends the connection with everything on it; calls that have not begun to answer end with this status. */
  destroy(status: CallStatus): void {
    if (this.#session.destroyed) return;
    for (const stream of this.#openStreams) refuseCall(stream, status);
    // The statuses go out first.
    setImmediate(() => {
      if (!this.#session.destroyed) this.#session.destroy();
    });
  }

  #after(delayMs: number, callback: () => void): Timer {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        callback();
      },
      Math.min(delayMs, MAX_TIMER_MS),
    );
    // An idle connection must not keep the process alive.
    timer.unref();
    this.#timers.add(timer);
    return timer;
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #armKeepalive(): void {
    const { keepaliveTimeMs, keepalivePermitWithoutCalls } = this.#options.limits;
    this.#after(keepaliveTimeMs, () => {
      if (this.#openStreams.size > 0 || keepalivePermitWithoutCalls) this.#ping();
      else this.#armKeepalive();
    });
  }

  #ping(): void {
    const session = this.#session;
    if (session.destroyed) return;
    const timer = this.#after(this.#options.limits.keepaliveTimeoutMs, () => {
      this.#options.logger.verbose(1, "gRPC connection does not answer its keepalive ping");
      this.destroy(NO_ANSWER);
    });
    session.ping((error) => {
      clearTimeout(timer);
      this.#timers.delete(timer);
      if (!error && !session.destroyed) this.#armKeepalive();
    });
  }

  #armAge(): void {
    const { maxConnectionAgeMs, maxConnectionAgeGraceMs } = this.#options.limits;
    if (maxConnectionAgeMs <= 0) return;
    const spread = 1 + AGE_SPREAD * (2 * Math.random() - 1);
    this.#after(maxConnectionAgeMs * spread, () => {
      this.close();
      if (maxConnectionAgeGraceMs > 0) {
        this.#after(maxConnectionAgeGraceMs, () => this.destroy(TOO_OLD));
      }
    });
  }

  /** Too many pings without anything sent between them: ENHANCE_YOUR_CALM, as gRPC servers do. */
  #onPing(): void {
    const { limits, clock, logger } = this.#options;
    if (limits.maxPingStrikeCount === 0) return;
    const session = this.#session;
    const nowNs = clock.nowNs();
    const sentBytes = session.socket.bytesWritten;
    const isIdle = this.#openStreams.size === 0 && !limits.keepalivePermitWithoutCalls;
    const intervalMs = isIdle ? IDLE_PING_INTERVAL_MS : limits.minRecvPingIntervalMs;
    const isEarly =
      this.#lastPingNs !== undefined && nowNs - this.#lastPingNs < intervalMs * NS_PER_MS;
    const hasTraffic = !isPingAnswers(sentBytes - this.#lastPingSentBytes);
    this.#lastPingNs = nowNs;
    this.#lastPingSentBytes = sentBytes;
    if (hasTraffic) this.#pingStrikeCount = 0;
    else if (isEarly) this.#pingStrikeCount++;
    if (this.#pingStrikeCount <= limits.maxPingStrikeCount) return;
    logger.verbose(1, "gRPC connection closed: too many pings");
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
    this.destroy(TOO_MANY_PINGS);
  }
}

/**
 * Whether between two pings nothing was sent but answers to pings, of which one may be on its way at either end. Clients
 * measure their bandwidth by pings while data flow, in both directions; those must not count. Data and updates of
 * windows, the sign of received data, have other lengths.
 */
function isPingAnswers(sentBytes: number): boolean {
  return sentBytes % PING_FRAME_BYTES === 0 && sentBytes <= 2 * PING_FRAME_BYTES;
}
