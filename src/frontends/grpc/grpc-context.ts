import type { Clock } from "../../base/clock.ts";
import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { DataPlane } from "../../core/data-plane.ts";
import type { RestrictedApis } from "../rpc-apis.ts";
import { MAX_MESSAGE_BYTES } from "./codec/grpc-frame.ts";
import { InferRequestDecoder } from "./codec/infer-request-decoder.ts";
import { HeaderForwarding } from "./header-forwarding.ts";

/** What the inference service is made of, whatever carries it. */
export interface GrpcServiceOptions {
  readonly dataPlane: DataPlane;
  readonly controlPlane: ControlPlane;
  readonly logger: Logger;
  readonly clock: Clock;
  /** `--grpc-header-forward-pattern`; "" forwards nothing. */
  readonly headerForwardPattern?: string;
  /** `--grpc-restricted-protocol`. */
  readonly restrictedApis?: RestrictedApis;
  /** `--grpc-infer-response-compression-level`, of ModelInfer and ModelStreamInfer; `none` by default. */
  readonly responseCompressionLevel?: ResponseCompressionLevel;
  /** The longest message a client may send; 2^31 − 1 by default. */
  readonly maxReceiveBytes?: number;
}

/** Levels of `--grpc-infer-response-compression-level`. */
export type ResponseCompressionLevel = "none" | "low" | "medium" | "high";

const NO_RESTRICTIONS: RestrictedApis = new Map();

/** What the rpcs share. One for a port; the HTTP port's Connect handler has its own. */
export class GrpcContext {
  readonly dataPlane: DataPlane;
  readonly controlPlane: ControlPlane;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly forwarding: HeaderForwarding;
  readonly restrictedApis: RestrictedApis;
  readonly responseCompressionLevel: ResponseCompressionLevel;
  readonly maxReceiveBytes: number;
  readonly decoder = new InferRequestDecoder();

  /** @throws InferenceError INVALID_ARG for a pattern that is no regular expression. */
  constructor(options: GrpcServiceOptions) {
    this.dataPlane = options.dataPlane;
    this.controlPlane = options.controlPlane;
    this.logger = options.logger;
    this.clock = options.clock;
    this.forwarding = new HeaderForwarding(options.headerForwardPattern ?? "");
    this.restrictedApis = options.restrictedApis ?? NO_RESTRICTIONS;
    this.responseCompressionLevel = options.responseCompressionLevel ?? "none";
    this.maxReceiveBytes = options.maxReceiveBytes ?? MAX_MESSAGE_BYTES;
  }

  /** What was thrown while an rpc was handled, as an error for its client. What nobody meant to throw is logged. */
  errorFrom(thrown: unknown, rpcName: string): InferenceError {
    if (thrown instanceof InferenceError) return thrown;
    this.logger.error("rpc failed unexpectedly", { rpc: rpcName, error: String(thrown) });
    return inferenceErrorFrom(thrown);
  }
}
