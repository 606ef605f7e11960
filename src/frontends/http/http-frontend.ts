import { InferenceError } from "../../base/error.ts";
import { closeServer } from "./close-server.ts";
import { createHttpApp } from "./http-app.ts";
import type { HttpFrontendOptions } from "./http-context.ts";
import { HttpContext } from "./http-context.ts";
import { IDLE_TIMEOUT_SECONDS } from "./open-requests.ts";

/** The REST interface, listening. */
export interface HttpFrontend {
  readonly address: string;
  /** The port it got, also where 0 was asked for. */
  readonly port: number;
  /** From now on the health endpoints say that the server goes down. */
  beginExit(): void;
  /** Takes no more connections; resolves when every request that has come as a whole is answered. Idempotent. */
  stop(): Promise<void>;
  /** Closes everything at once, answered or not. Idempotent. */
  kill(): Promise<void>;
}

/**
 * Starts the REST interface.
 *
 * @throws InferenceError UNAVAILABLE naming address and port when it cannot listen there.
 */
export async function startHttpFrontend(options: HttpFrontendOptions): Promise<HttpFrontend> {
  const context = new HttpContext(options);
  const app = createHttpApp(context);
  const { address, port } = options;
  try {
    app.listen({
      hostname: address,
      port,
      // Elysia would share the port by default: two servers on it would then both seem to start.
      reusePort: options.reusePort ?? false,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      // Bodies are held against our own limits, which answer with a JSON text; Bun's answer has no body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new InferenceError(
      "UNAVAILABLE",
      `cannot listen for HTTP on ${address}:${port}: ${reason}`,
      {
        cause: thrown,
      },
    );
  }
  const server = app.server;
  if (!server?.port) {
    throw new InferenceError("UNAVAILABLE", `cannot listen for HTTP on ${address}:${port}`);
  }
  let closing: Promise<void> | undefined;
  return {
    address,
    port: server.port,
    beginExit() {
      context.isExiting = true;
    },
    stop() {
      context.isExiting = true;
      closing ??= closeServer(server, () => context.bodies.unsentCount);
      return closing;
    },
    async kill() {
      await server.stop(true);
    },
  };
}
