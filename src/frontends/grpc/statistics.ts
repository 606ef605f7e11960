import type { ServiceImpl } from "@connectrpc/connect";
import type { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";
import type { Model } from "../../core/model/model.ts";
import type { DurationTotal } from "../../core/statistics/model-statistics.ts";
import type { GrpcContext } from "./grpc-context.ts";

function duration({ count, ns }: DurationTotal) {
  return { count: BigInt(count), ns: BigInt(Math.round(ns)) };
}

function statisticsOf(model: Model) {
  const seen = model.statistics.snapshot();
  return {
    name: model.name,
    version: model.versionText,
    lastInference: BigInt(Math.round(seen.lastInferenceMs)),
    inferenceCount: BigInt(seen.inferenceCount),
    executionCount: BigInt(seen.executionCount),
    inferenceStats: {
      success: duration(seen.success),
      fail: duration(seen.fail),
      queue: duration(seen.queue),
      computeInput: duration(seen.computeInput),
      computeInfer: duration(seen.computeInfer),
      computeOutput: duration(seen.computeOutput),
      cacheHit: duration(seen.cacheHit),
      cacheMiss: duration(seen.cacheMiss),
    },
    batchStats: seen.batches.map((batch) => ({
      batchSize: BigInt(batch.batchSize),
      computeInput: duration(batch.computeInput),
      computeInfer: duration(batch.computeInfer),
      computeOutput: duration(batch.computeOutput),
    })),
  };
}

/** Statistics of all models, of one, or of one version. */
export function statisticsRpcs({ dataPlane }: GrpcContext) {
  return {
    modelStatistics({ name, version }) {
      return { modelStats: dataPlane.statisticsModels(name, version).map(statisticsOf) };
    },
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}
