const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** setTimeout takes no more; 24 days are as good as no deadline. */
const MAX_TIMEOUT_MS = 0x7fffffff;

/**
 * The value of a `grpc-timeout` header in ms.
 *
 * @returns undefined when it is malformed.
 * @see gRPC over HTTP/2, "Requests": at most 8 digits and a unit.
 */
export function parseGrpcTimeout(text: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] ?? ""];
  if (unitMs === undefined) return undefined;
  return Math.min(Number(match?.[1]) * unitMs, MAX_TIMEOUT_MS);
}
