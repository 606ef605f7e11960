import type { ErrorCode } from "../base/error.ts";

/** One row of the table: what a code of ours is on each wire. */
export interface WireStatus {
  /** HTTP status of the REST interface. */
  readonly http: number;
  /** Number of the gRPC status (`google.rpc.Code`). */
  readonly grpc: number;
}

/**
 * ErrorCode → HTTP status and gRPC code, as Triton's frontends answer. The only place of such numbers in `src`
 * besides {@link HTTP_STATUS}; `tests/house/status-table.test.ts` sees to it.
 */
export const STATUS_TABLE: Readonly<Record<ErrorCode, WireStatus>> = {
  INVALID_ARG: { http: 400, grpc: 3 },
  NOT_FOUND: { http: 404, grpc: 5 },
  ALREADY_EXISTS: { http: 400, grpc: 6 },
  UNAVAILABLE: { http: 503, grpc: 14 },
  UNSUPPORTED: { http: 501, grpc: 12 },
  CANCELLED: { http: 400, grpc: 1 },
  INTERNAL: { http: 500, grpc: 13 },
  UNKNOWN: { http: 400, grpc: 2 },
};

/** HTTP statuses that no ErrorCode stands for: those of the transport and of the access rules. */
export const HTTP_STATUS = {
  ok: 200,
  noContent: 204,
  badRequest: 400,
  /** A restricted API without its key header. */
  forbidden: 403,
  notFound: 404,
  methodNotAllowed: 405,
  contentTooLarge: 413,
  internal: 500,
} as const;

/** gRPC statuses that no ErrorCode stands for. */
export const GRPC_STATUS = {
  ok: 0,
  /** The caller's deadline passed before the answer was there. */
  deadlineExceeded: 4,
  /** A message above the size limit. */
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
} as const;

/** HTTP status of an error code. */
export function httpStatusOf(code: ErrorCode): number {
  return STATUS_TABLE[code].http;
}

/** gRPC status number of an error code. */
export function grpcStatusOf(code: ErrorCode): number {
  return STATUS_TABLE[code].grpc;
}
