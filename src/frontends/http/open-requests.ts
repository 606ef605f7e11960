import type { InferenceRequest } from "../../core/request/inference-request.ts";
import type { HttpServer } from "./endpoint.ts";

/**
 * Seconds after which a connection that neither sends nor receives is closed: the longest that Bun knows. It ends
 * kept-alive connections that nobody uses and bodies that stop half-way. (Bun starts this clock with a connection's
 * first request; one that never completes a request head is not covered.)
 */
export const IDLE_TIMEOUT_SECONDS = 255;

const TICK_MS = 10;
/** Ticks before a request's connection is watched: it is then 10 to 20 ms old. */
const WATCHED_AFTER_TICKS = 2;
/** Ticks before a request's connection may stay quiet for ever. */
const SUSPENDED_AFTER_TICKS = 100;

/** One inference whose answer is still to come. */
export class OpenRequest implements EventListenerObject {
  tickCount = 0;
  isIdleSuspended = false;
  readonly http: Request;
  readonly inference: InferenceRequest;
  readonly server: HttpServer;

  constructor(http: Request, inference: InferenceRequest, server: HttpServer) {
    this.http = http;
    this.inference = inference;
    this.server = server;
  }

  /** The connection has closed. */
  handleEvent(): void {
    this.inference.cancel();
  }
}

/**
 * Watches inferences that take long: cancels those whose client goes away, and keeps their quiet connections open.
 *
 * Most are answered within a millisecond and gone before the first look. Asking for a request's signal, listening to
 * it and moving the idle timeout twice cost 10 µs, a third of all that an inference costs here; a signal asked for
 * later tells as well that its connection has closed (measured on Bun 1.4.4).
 */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();
  readonly #tickMs: number;
  #timer: ReturnType<typeof setInterval> | undefined = undefined;

  constructor(tickMs = TICK_MS) {
    this.#tickMs = tickMs;
  }

  add(request: OpenRequest): void {
    this.#open.add(request);
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tick(), this.#tickMs);
    this.#timer.unref();
  }

  /** Call it once the request has ended. Calling it twice does no harm. */
  remove(request: OpenRequest): void {
    this.#open.delete(request);
    if (!request.isIdleSuspended) return;
    // The suspension lasts for the connection, not the request.
    request.isIdleSuspended = false;
    request.server?.timeout(request.http, IDLE_TIMEOUT_SECONDS);
  }

  /** Inferences whose answer is still to come. */
  get count(): number {
    return this.#open.size;
  }

  #tick(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const request of this.#open) {
      request.tickCount++;
      if (request.tickCount === WATCHED_AFTER_TICKS) watch(request);
      else if (request.tickCount === SUSPENDED_AFTER_TICKS) {
        request.isIdleSuspended = true;
        request.server?.timeout(request.http, 0);
      }
    }
  }
}

function watch(request: OpenRequest): void {
  const { signal } = request.http;
  if (signal.aborted) request.handleEvent();
  else signal.addEventListener("abort", request);
}
