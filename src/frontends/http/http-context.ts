import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { DataPlane } from "../../core/data-plane.ts";
import type { Model } from "../../core/model/model.ts";
import type { RestrictedApis } from "../rpc-apis.ts";
import { InferRequestCodec } from "./codec/infer-request.ts";
import { InferResponseCodec } from "./codec/infer-response.ts";
import { HeaderForwarding } from "./header-forwarding.ts";
import { OpenRequests } from "./open-requests.ts";
import { RequestBodies } from "./request-bodies.ts";

/** Serves the inference service to browsers: gRPC-web and Connect. */
export type RpcHandler = (request: Request) => Response | Promise<Response>;

/** What the REST interface is made of. */
export interface HttpFrontendOptions {
  readonly dataPlane: DataPlane;
  readonly controlPlane: ControlPlane;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The configuration of a model as JSON text (`GET …/config`). */
  readonly formatConfig: (model: Model) => string;
  /** `--http-address`. */
  readonly address: string;
  /** `--http-port`; 0 takes any free one. */
  readonly port: number;
  /** `--reuse-http-port`. */
  readonly reusePort?: boolean;
  /** `--http-max-input-size`: the most bytes of JSON, decompressed bodies and raw tensors. 64 MiB by default. */
  readonly maxInputBytes?: number;
  /** The most bytes of one request body, binary tail included. 2^31 − 1 by default, as for gRPC messages. */
  readonly maxRequestBodyBytes?: number;
  /** The most bytes of bodies of requests not yet answered, all together. 2^31 − 1 by default. */
  readonly maxInflightBytes?: number;
  /** `--http-header-forward-pattern`; "" forwards nothing. */
  readonly headerForwardPattern?: string;
  /** `--http-restricted-api`. */
  readonly restrictedApis?: RestrictedApis;
  /** Mounted on the paths of the inference and health services. */
  readonly rpcHandler?: RpcHandler | undefined;
  /**
   * Origins whose pages may use the RPC paths: `scheme://host` (any port), `scheme://host:port`, `null` (pages
   * opened from a file) or `*`. By default pages served by this machine itself.
   */
  readonly corsOrigins?: readonly string[];
}

/** Triton's default of `--http-max-input-size`. */
const DEFAULT_MAX_INPUT_BYTES = 64 * 1024 * 1024;
const INT32_MAX = 2_147_483_647;
const LOOPBACK_ORIGINS: readonly string[] = [
  "http://localhost",
  "http://127.0.0.1",
  "http://[::1]",
  "https://localhost",
];
const NO_RESTRICTIONS: RestrictedApis = new Map();

/** What the endpoints share. One per frontend. */
export class HttpContext {
  readonly dataPlane: DataPlane;
  readonly controlPlane: ControlPlane;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly formatConfig: (model: Model) => string;
  readonly requestCodec: InferRequestCodec;
  readonly responseCodec = new InferResponseCodec();
  readonly bodies: RequestBodies;
  readonly openRequests = new OpenRequests();
  readonly headerForwarding: HeaderForwarding;
  readonly restrictedApis: RestrictedApis;
  readonly rpcHandler: RpcHandler | undefined;
  readonly corsOrigins: readonly string[];
  /** True from the beginning of the shutdown: health endpoints then say so. */
  isExiting = false;

  constructor(options: HttpFrontendOptions) {
    const maxInputBytes = options.maxInputBytes ?? DEFAULT_MAX_INPUT_BYTES;
    this.dataPlane = options.dataPlane;
    this.controlPlane = options.controlPlane;
    this.logger = options.logger;
    this.clock = options.clock;
    this.formatConfig = options.formatConfig;
    this.requestCodec = new InferRequestCodec({ maxInputBytes });
    this.bodies = new RequestBodies({
      maxInputBytes,
      maxBodyBytes: options.maxRequestBodyBytes ?? INT32_MAX,
      maxInflightBytes: options.maxInflightBytes ?? INT32_MAX,
    });
    this.headerForwarding = new HeaderForwarding(options.headerForwardPattern ?? "");
    this.restrictedApis = options.restrictedApis ?? NO_RESTRICTIONS;
    this.rpcHandler = options.rpcHandler;
    this.corsOrigins = options.corsOrigins ?? LOOPBACK_ORIGINS;
  }
}
