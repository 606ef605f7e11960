/**
 * What Triton puts before the text of a refusal by its core, so that a client with many requests under way sees
 * which one is meant.
 */
export function requestPrefix(requestId: string): string {
  return requestId === "" ? "[request id: <id_unknown>] " : `[request id: ${requestId}] `;
}
