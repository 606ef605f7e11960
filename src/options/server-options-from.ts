import { metricsConfigFrom } from "./metrics-config.ts";
import { OptionError, parseInteger } from "./option.ts";
import { OPTION_NAMES, type OptionName, type OptionValues } from "./option-table.ts";
import { checkPorts, type ListeningService } from "./port-collisions.ts";
import type { ReadArguments } from "./read-arguments.ts";
import { restrictedApisFrom } from "./restricted-apis.ts";
import type {
  GrpcOptions,
  GrpcTlsOptions,
  HttpOptions,
  LogOptions,
  MetricsOptions,
  RepositoryOptions,
  ResourceOptions,
  ServerOptions,
} from "./server-options.ts";
import type { Setting } from "./setting.ts";
import { DEPRECATED_TRACE_FLAGS, type TraceEnvironment, traceConfigFrom } from "./trace-config.ts";

/** The environment variables that change options. */
export interface Environment extends TraceEnvironment {
  readonly [name: string]: string | undefined;
  readonly TRITON_SERVER_ESCAPE_LOG_MESSAGES?: string | undefined;
  /** `PREDICTION` inside Vertex AI. */
  readonly AIP_MODE?: string | undefined;
  readonly AIP_HTTP_PORT?: string | undefined;
}

/** Where a service listens whose flags name no address. */
const ANY_ADDRESS = "0.0.0.0";

/** What the flags of a command line mean together. */
class OptionReader {
  readonly #values: OptionValues;
  readonly #given: ReadonlySet<OptionName>;
  readonly #positional: readonly string[];
  readonly #environment: Environment;
  readonly #warnings: string[];

  constructor(read: ReadArguments, environment: Environment, warnings: string[]) {
    this.#values = read.values;
    this.#given = read.given;
    this.#positional = read.positional;
    this.#environment = environment;
    this.#warnings = warnings;
  }

  options(): ServerOptions {
    const values = this.#values;
    const http = this.#http();
    const grpc = this.#grpc();
    const metrics = this.#metrics(http.address);
    this.#checkPorts([
      { name: "HTTP", ...http },
      { name: "GRPC", ...grpc },
      { name: "metrics", ...metrics },
    ]);
    return {
      id: values.id,
      exitTimeoutSeconds: values["exit-timeout-secs"],
      log: this.#log(),
      repository: this.#repository(),
      http,
      grpc,
      metrics,
      trace: traceConfigFrom(
        [...this.#deprecatedTraceSettings(), ...values["trace-config"]],
        this.#environment,
        this.#warnings,
      ),
      backendConfig: backendConfigFrom(values["backend-config"]),
      libraryPaths:
        values["onnxruntime-library"] === "" ? {} : { onnxruntime: values["onnxruntime-library"] },
      allowClientSharedMemory: values["allow-client-shm"],
      resources: this.#resources(),
    };
  }

  #log(): LogOptions {
    const values = this.#values;
    return {
      verboseLevel: values["log-verbose"],
      info: values["log-info"],
      warning: values["log-warning"],
      error: values["log-error"],
      format: values["log-format"],
      file: values["log-file"],
      escapeMessages: this.#environment.TRITON_SERVER_ESCAPE_LOG_MESSAGES !== "0",
    };
  }

  #repository(): RepositoryOptions {
    const values = this.#values;
    const paths = [...values["model-repository"], ...this.#positional];
    if (paths.length === 0) throw new OptionError("--model-repository must be specified");
    const empty = paths.find((path) => path === "");
    if (empty !== undefined) throw new OptionError("--model-repository must not be empty");
    const controlMode = values["model-control-mode"];
    const startupModels = values["load-model"];
    if (startupModels.length > 0 && controlMode !== "explicit") {
      throw new OptionError(
        "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.",
      );
    }
    if (startupModels.includes("*") && new Set(startupModels).size > 1) {
      throw new OptionError(
        "Wildcard model name '*' must be the ONLY startup model if specified at all.",
      );
    }
    return {
      paths,
      exitOnError: values["exit-on-error"],
      autoCompleteConfig: !this.#isStrictConfig(),
      strictReadiness: values["strict-readiness"],
      controlMode,
      pollSeconds: controlMode === "poll" ? values["repository-poll-secs"] : 0,
      startupModels: [...new Set(startupModels)],
      configName: values["model-config-name"],
      loadThreadCount: values["model-load-thread-count"],
      loadRetryCount: values["model-load-retry-count"],
      isNamespacing: values["model-namespacing"],
    };
  }

  #isStrictConfig(): boolean {
    const isStrict = this.#values["strict-model-config"];
    if (!this.#given.has("disable-auto-complete-config")) return isStrict;
    if (this.#given.has("strict-model-config") && !isStrict) {
      this.#warnings.push(
        "Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!",
      );
    }
    return true;
  }

  #http(): HttpOptions {
    const values = this.#values;
    return {
      isAllowed: values["allow-http"],
      address: values["http-address"],
      port: values["http-port"],
      reusePort: values["reuse-http-port"],
      headerForwardPattern: values["http-header-forward-pattern"],
      maxInputBytes: values["http-max-input-size"],
      restrictedApis: restrictedApisFrom(values["http-restricted-api"], "http-restricted-api"),
    };
  }

  #grpc(): GrpcOptions {
    const values = this.#values;
    return {
      isAllowed: values["allow-grpc"],
      address: values["grpc-address"],
      port: values["grpc-port"],
      reusePort: values["reuse-grpc-port"],
      headerForwardPattern: values["grpc-header-forward-pattern"],
      responseCompressionLevel: values["grpc-infer-response-compression-level"],
      connection: {
        keepaliveTimeMs: values["grpc-keepalive-time"],
        keepaliveTimeoutMs: values["grpc-keepalive-timeout"],
        keepalivePermitWithoutCalls: values["grpc-keepalive-permit-without-calls"],
        minRecvPingIntervalMs: values["grpc-http2-min-recv-ping-interval-without-data"],
        maxPingStrikeCount: values["grpc-http2-max-ping-strikes"],
        maxConnectionAgeMs: values["grpc-max-connection-age"],
        maxConnectionAgeGraceMs: values["grpc-max-connection-age-grace"],
      },
      tls: this.#grpcTls(),
      restrictedApis: restrictedApisFrom(
        values["grpc-restricted-protocol"],
        "grpc-restricted-protocol",
        "triton-grpc-protocol-",
      ),
    };
  }

  #grpcTls(): GrpcTlsOptions | undefined {
    const values = this.#values;
    const isMutual = values["grpc-use-ssl-mutual"];
    if (!values["grpc-use-ssl"] && !isMutual) return undefined;
    const tls = {
      isMutual,
      serverCert: values["grpc-server-cert"],
      serverKey: values["grpc-server-key"],
      rootCert: values["grpc-root-cert"],
    };
    if (tls.serverCert === "" || tls.serverKey === "") {
      throw new OptionError("--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key");
    }
    if (isMutual && tls.rootCert === "") {
      throw new OptionError("--grpc-use-ssl-mutual needs --grpc-root-cert");
    }
    return tls;
  }

  #metrics(httpAddress: string): MetricsOptions {
    const values = this.#values;
    return {
      isAllowed: values["allow-metrics"],
      address: values["metrics-address"] || httpAddress,
      port: values["metrics-port"],
      allowCpuMetrics: values["allow-cpu-metrics"],
      allowGpuMetrics: values["allow-gpu-metrics"],
      intervalMs: values["metrics-interval-ms"],
      config: metricsConfigFrom(values["metrics-config"], this.#warnings),
    };
  }

  #checkPorts(services: readonly (ListeningService & { readonly isAllowed: boolean })[]): void {
    const values = this.#values;
    const listening: ListeningService[] = services.filter((service) => service.isAllowed);
    if (values["allow-sagemaker"]) {
      listening.push({ name: "SageMaker", address: ANY_ADDRESS, port: values["sagemaker-port"] });
    }
    if (values["allow-vertex-ai"]) {
      const port = values["vertex-ai-port"] ?? this.#vertexPort();
      listening.push({ name: "Vertex AI", address: ANY_ADDRESS, port });
    }
    checkPorts(
      listening,
      values["allow-sagemaker"] ? values["sagemaker-safe-port-range"] : undefined,
    );
  }

  #vertexPort(): number {
    const port = this.#environment.AIP_HTTP_PORT;
    return port === undefined ? 8080 : parseInteger(port, "AIP_HTTP_PORT", 0, 65535);
  }

  #deprecatedTraceSettings(): readonly Setting[] {
    const settings: Setting[] = [];
    for (const name of OPTION_NAMES) {
      if (!isTraceFlag(name)) continue;
      const value = this.#values[name];
      if (value !== "") settings.push({ ...DEPRECATED_TRACE_FLAGS[name], value });
    }
    return settings;
  }

  #resources(): ResourceOptions {
    const values = this.#values;
    const cacheBytes = values["response-cache-byte-size"];
    if (cacheBytes !== undefined && this.#given.has("cache-config")) {
      throw new OptionError(
        "Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.",
      );
    }
    return {
      cacheSettings:
        cacheBytes === undefined
          ? values["cache-config"]
          : [{ owner: "local", key: "size", value: String(cacheBytes) }],
      rateLimit: values["rate-limit"],
      rateLimitResources: values["rate-limit-resource"],
      pinnedMemoryPoolBytes: values["pinned-memory-pool-byte-size"],
      cudaMemoryPools: values["cuda-memory-pool-byte-size"],
      cudaVirtualAddresses: values["cuda-virtual-address-size"],
      hostPolicies: values["host-policy"],
      modelLoadGpuLimits: values["model-load-gpu-limit"],
      sagemakerSafePortRange: values["sagemaker-safe-port-range"],
    };
  }
}

function isTraceFlag(name: string): name is keyof typeof DEPRECATED_TRACE_FLAGS {
  return Object.hasOwn(DEPRECATED_TRACE_FLAGS, name);
}

function backendConfigFrom(
  settings: readonly Setting[],
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const byBackend = new Map<string, Record<string, string>>();
  for (const { owner, key, value } of settings) {
    byBackend.set(owner, { ...byBackend.get(owner), [key]: value });
  }
  return byBackend;
}

/**
 * Checks the flags against each other and gives them their final form.
 * @param warnings gets a line for each thing that is overridden or skipped.
 * @throws OptionError
 */
export function serverOptionsFrom(
  read: ReadArguments,
  environment: Environment,
  warnings: string[],
): ServerOptions {
  return new OptionReader(read, environment, warnings).options();
}
