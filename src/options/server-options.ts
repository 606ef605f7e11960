import type { MetricsConfig } from "./metrics-config.ts";
import type { ListenAddress } from "./port-collisions.ts";
import type { RestrictedApis } from "./restricted-apis.ts";
import type { GpuBytes, GpuFraction, PortRange, RateLimitResource, Setting } from "./setting.ts";
import type { TraceConfig } from "./trace-config.ts";

/** How the log is written. */
export interface LogOptions {
  readonly verboseLevel: number;
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly format: "default" | "ISO8601" | "json";
  /** "" = console. */
  readonly file: string;
  /** Whether control characters in messages are escaped, so that a message stays one line. */
  readonly escapeMessages: boolean;
}

/** Which models are served, from where. */
export interface RepositoryOptions {
  /** At least one. */
  readonly paths: readonly string[];
  readonly exitOnError: boolean;
  readonly autoCompleteConfig: boolean;
  readonly strictReadiness: boolean;
  readonly controlMode: "none" | "poll" | "explicit";
  /** 0 outside mode poll. */
  readonly pollSeconds: number;
  /** Names for mode explicit; `*` stands alone. */
  readonly startupModels: readonly string[];
  /** "" = config.pbtxt. */
  readonly configName: string;
  readonly loadThreadCount: number;
  readonly loadRetryCount: number;
  readonly isNamespacing: boolean;
}

/** The HTTP port. */
export interface HttpOptions extends ListenAddress {
  readonly isAllowed: boolean;
  readonly reusePort: boolean;
  /** Regular expression; "" = none. */
  readonly headerForwardPattern: string;
  readonly maxInputBytes: number;
  readonly restrictedApis: RestrictedApis;
}

/** TLS of the gRPC port; paths of PEM files, "" = none. */
export interface GrpcTlsOptions {
  readonly isMutual: boolean;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly rootCert: string;
}

/** How long connections of the gRPC port live, and how clients may probe them. */
export interface GrpcConnectionOptions {
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly keepalivePermitWithoutCalls: boolean;
  readonly minRecvPingIntervalMs: number;
  /** 0 = no number of pings ends a connection. */
  readonly maxPingStrikeCount: number;
  /** 0 = connections are kept. */
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
}

/** The gRPC port. */
export interface GrpcOptions extends ListenAddress {
  readonly isAllowed: boolean;
  readonly reusePort: boolean;
  /** Regular expression; "" = none. */
  readonly headerForwardPattern: string;
  readonly responseCompressionLevel: "none" | "low" | "medium" | "high";
  readonly connection: GrpcConnectionOptions;
  /** undefined = plaintext. */
  readonly tls: GrpcTlsOptions | undefined;
  readonly restrictedApis: RestrictedApis;
}

/** The metrics port. */
export interface MetricsOptions extends ListenAddress {
  readonly isAllowed: boolean;
  readonly allowCpuMetrics: boolean;
  readonly allowGpuMetrics: boolean;
  readonly intervalMs: number;
  readonly config: MetricsConfig;
}

/** Response cache, rate limiter and devices. */
export interface ResourceOptions {
  /** `--cache-config`, the deprecated flag included. */
  readonly cacheSettings: readonly Setting[];
  readonly rateLimit: "off" | "execution_count";
  readonly rateLimitResources: readonly RateLimitResource[];
  readonly pinnedMemoryPoolBytes: number;
  readonly cudaMemoryPools: readonly GpuBytes[];
  readonly cudaVirtualAddresses: readonly GpuBytes[];
  readonly hostPolicies: readonly Setting[];
  readonly modelLoadGpuLimits: readonly GpuFraction[];
  readonly sagemakerSafePortRange: PortRange | undefined;
}

/** Everything that `tribune serve` is told, checked, with all defaults filled in. */
export interface ServerOptions {
  readonly id: string;
  readonly exitTimeoutSeconds: number;
  readonly log: LogOptions;
  readonly repository: RepositoryOptions;
  readonly http: HttpOptions;
  readonly grpc: GrpcOptions;
  readonly metrics: MetricsOptions;
  readonly trace: TraceConfig;
  /** Settings by backend name; those of all backends under "". */
  readonly backendConfig: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Libraries to use before any that is found, by backend name. */
  readonly libraryPaths: Readonly<Record<string, string>>;
  readonly allowClientSharedMemory: boolean;
  readonly resources: ResourceOptions;
}
