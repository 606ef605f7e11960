/** How the options become ports. The only file that names the frontends. */
import type { ServerLog } from "./base/server-log.ts";
import { SystemClock } from "./base/system-clock.ts";
import { configToJson } from "./core/config/config-json.ts";
import type { ModelServer } from "./core/model-server.ts";
import { createConnectFetchHandler } from "./frontends/grpc/connect/fetch-handler.ts";
import type { GrpcServiceOptions } from "./frontends/grpc/grpc-context.ts";
import { startGrpcFrontend } from "./frontends/grpc/grpc-frontend.ts";
import { startHttpFrontend } from "./frontends/http/http-frontend.ts";
import type { CustomMetrics } from "./frontends/metrics/custom-metrics.ts";
import { MetricsFrontend } from "./frontends/metrics/metrics-frontend.ts";
import type { GrpcOptions, ServerOptions } from "./options/server-options.ts";
import type { FrontendPlan } from "./server.ts";
import { SERVER_VERSION } from "./version.ts";

/** The HTTP port: REST, and for browsers gRPC-web and Connect. */
function httpPlan(
  { http, grpc }: ServerOptions,
  models: ModelServer,
  log: ServerLog,
): FrontendPlan {
  const { address, port } = http;
  return {
    service: "HTTPService",
    label: "HTTP",
    address,
    port,
    open: () =>
      startHttpFrontend({
        dataPlane: models,
        controlPlane: models,
        logger: log,
        clock: new SystemClock(),
        formatConfig: (model) => configToJson(model.config.message),
        address,
        port,
        reusePort: http.reusePort,
        maxInputBytes: http.maxInputBytes,
        headerForwardPattern: http.headerForwardPattern,
        restrictedApis: http.restrictedApis,
        rpcHandler: createConnectFetchHandler(rpcOptions(grpc, models, log)),
      }),
  };
}

/** The inference service, whatever carries it: what is closed on the gRPC port is closed on the HTTP port too. */
function rpcOptions(grpc: GrpcOptions, models: ModelServer, log: ServerLog): GrpcServiceOptions {
  return {
    dataPlane: models,
    controlPlane: models,
    logger: log,
    clock: new SystemClock(),
    headerForwardPattern: grpc.headerForwardPattern,
    restrictedApis: grpc.restrictedApis,
    responseCompressionLevel: grpc.responseCompressionLevel,
  };
}

/** The gRPC port. */
function grpcPlan({ grpc }: ServerOptions, models: ModelServer, log: ServerLog): FrontendPlan {
  const { address, port } = grpc;
  return {
    service: "GRPCInferenceService",
    label: "gRPC",
    address,
    port,
    open: () =>
      startGrpcFrontend({
        ...rpcOptions(grpc, models, log),
        address,
        port,
        reusePort: grpc.reusePort,
        tls: grpc.tls,
        limits: grpc.connection,
      }),
  };
}

/**
 * The metrics port.
 * @param onOpen gets the page, which wants to hear of each model that is loaded.
 */
function metricsPlan(
  { metrics, resources }: ServerOptions,
  models: ModelServer,
  log: ServerLog,
  custom: CustomMetrics,
  onOpen: (frontend: MetricsFrontend) => void,
): FrontendPlan {
  const { address, port, config } = metrics;
  return {
    service: "Metrics Service",
    label: "metrics",
    address,
    port,
    async open() {
      const frontend = MetricsFrontend.start({
        hostname: address,
        port,
        serverVersion: SERVER_VERSION,
        intervalMs: metrics.intervalMs,
        hasCpuMetrics: metrics.allowCpuMetrics,
        pinnedPoolBytes: resources.pinnedMemoryPoolBytes,
        hasLatencyCounters: config.counterLatencies,
        latencies: {
          hasSummaries: config.summaryLatencies,
          hasHistograms: config.histogramLatencies,
          quantiles: config.summaryQuantiles.map(({ quantile }) => quantile),
        },
        models: () => models.statisticsModels("", ""),
        extraPages: () => custom.text(),
        logger: log,
      });
      onOpen(frontend);
      return { address, port: frontend.port, stop: () => frontend.stop() };
    },
  };
}

/**
 * The ports that the options ask for, in the order in which they open.
 * @param custom metrics that models make themselves.
 * @param onMetricsOpen gets the metrics page, which wants to hear of each model that is loaded.
 */
export function frontendPlans(
  options: ServerOptions,
  models: ModelServer,
  log: ServerLog,
  custom: CustomMetrics,
  onMetricsOpen: (frontend: MetricsFrontend) => void,
): readonly FrontendPlan[] {
  const plans: FrontendPlan[] = [];
  // Metrics open first, so that they are there for whoever waits for the others.
  if (options.metrics.isAllowed) {
    plans.push(metricsPlan(options, models, log, custom, onMetricsOpen));
  }
  if (options.grpc.isAllowed) plans.push(grpcPlan(options, models, log));
  if (options.http.isAllowed) plans.push(httpPlan(options, models, log));
  return plans;
}
