/**
 * What went wrong, in Triton's terms. `src/frontends/status.ts` alone turns a code into an HTTP status or a
 * gRPC code.
 */
export type ErrorCode =
  | "INVALID_ARG"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "UNAVAILABLE"
  | "UNSUPPORTED"
  | "CANCELLED"
  | "INTERNAL"
  | "UNKNOWN";

/** The `reason` label of `nv_inference_request_failure`. */
export type FailureReason = "REJECTED" | "CANCELED" | "BACKEND" | "OTHER";

/** Words that Triton prints before a status message, for example `Invalid argument: …` in an index reason. */
const STATUS_WORDS: Readonly<Record<ErrorCode, string>> = {
  INVALID_ARG: "Invalid argument",
  NOT_FOUND: "Not found",
  ALREADY_EXISTS: "Already exists",
  UNAVAILABLE: "Unavailable",
  UNSUPPORTED: "Unsupported",
  CANCELLED: "Cancelled",
  INTERNAL: "Internal",
  UNKNOWN: "Unknown",
};

/** Options of {@link InferenceError}. */
export interface InferenceErrorOptions {
  readonly cause?: unknown;
  /** Failure label of the metrics; `OTHER` where nothing is said. */
  readonly reason?: FailureReason;
}

/** The only error that crosses a folder border. Its message goes to the client as it is. */
export class InferenceError extends Error {
  override readonly name = "InferenceError";
  readonly code: ErrorCode;
  readonly reason: FailureReason;

  constructor(code: ErrorCode, message: string, options: InferenceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.reason = options.reason ?? "OTHER";
  }

  /** The text form of a Triton status, `Invalid argument: …`, as index reasons and logs show it. */
  get statusText(): string {
    return `${STATUS_WORDS[this.code]}: ${this.message}`;
  }
}

/** An unexpected exception becomes INTERNAL with its own text; an InferenceError stays what it is. */
export function inferenceErrorFrom(thrown: unknown): InferenceError {
  if (thrown instanceof InferenceError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new InferenceError("INTERNAL", `unexpected error: ${message}`, { cause: thrown });
}
