import type { HttpServer } from "./endpoint.ts";

/**
 * Seconds after which a connection that neither sends nor receives is closed: the longest that Bun knows. It ends
 * kept-alive connections that nobody uses and bodies that stop half-way. (Bun starts this clock with a connection's
 * first request; one that never completes a request head is not covered.)
 */
export const IDLE_TIMEOUT_SECONDS = 255;

/** Lets a connection be quiet for as long as an inference takes. */
export function suspendIdleTimeout(server: HttpServer, request: Request): void {
  server?.timeout(request, 0);
}

/** Undoes {@link suspendIdleTimeout}, which otherwise lasts for the connection. */
export function resumeIdleTimeout(server: HttpServer, request: Request): void {
  server?.timeout(request, IDLE_TIMEOUT_SECONDS);
}
