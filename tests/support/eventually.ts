/** Resolves when a condition that depends on a socket holds. @throws after a few seconds. */
export async function eventually(condition: () => boolean, withinMs = 5000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > endMs)
      throw new Error(`still not so after ${withinMs} ms: ${condition}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
