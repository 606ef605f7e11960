/** What closing needs to know of Bun's server. */
export interface ClosableServer {
  /** Requests whose head has come and whose answer is not sent yet. */
  readonly pendingRequests: number;
  /** @param closesConnections whether requests in hand are cut off. Resolves when all connections have gone. */
  stop(closesConnections: boolean): Promise<void>;
}

/** A client that is in the middle of sending a request when the server closes gets so long to go on. */
const GRACE_MS = 1000;
const LOOK_MS = 50;

/**
 * Takes no more connections, lets requests in hand be answered and sent, and cuts off connections on which there is
 * only a part of a request: Bun waits for those as long as their clients hold them.
 *
 * @param countUnsent requests of which the body has not come yet.
 */
export async function closeServer(
  server: ClosableServer,
  countUnsent: () => number,
  graceMs = GRACE_MS,
): Promise<void> {
  const { promise: onlyPartsAreLeft, resolve } = Promise.withResolvers<void>();
  let quietSinceMs: number | undefined;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (server.pendingRequests > countUnsent()) quietSinceMs = undefined;
    else quietSinceMs ??= nowMs;
    if (quietSinceMs !== undefined && nowMs - quietSinceMs >= graceMs) resolve();
  }, LOOK_MS);
  try {
    await Promise.race([server.stop(false), onlyPartsAreLeft]);
  } finally {
    clearInterval(timer);
  }
  await server.stop(true);
}
