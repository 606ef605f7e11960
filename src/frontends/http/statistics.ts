import type { Model } from "../../core/model/model.ts";
import type { DurationTotal } from "../../core/statistics/model-statistics.ts";
import type { Endpoint } from "./endpoint.ts";
import { modelOf, modelPaths } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { jsonResponse } from "./json-response.ts";

function duration({ count, ns }: DurationTotal) {
  return { count, ns };
}

/** One entry of the statistics extension; members in Triton's order. */
function statisticsOf(model: Model) {
  const seen = model.statistics.snapshot();
  return {
    name: model.name,
    version: model.versionText,
    last_inference: seen.lastInferenceMs,
    inference_count: seen.inferenceCount,
    execution_count: seen.executionCount,
    inference_stats: {
      success: duration(seen.success),
      fail: duration(seen.fail),
      queue: duration(seen.queue),
      compute_input: duration(seen.computeInput),
      compute_infer: duration(seen.computeInfer),
      compute_output: duration(seen.computeOutput),
      cache_hit: duration(seen.cacheHit),
      cache_miss: duration(seen.cacheMiss),
    },
    response_stats: {},
    batch_stats: seen.batches.map((batch) => ({
      batch_size: batch.batchSize,
      compute_input: duration(batch.computeInput),
      compute_infer: duration(batch.computeInfer),
      compute_output: duration(batch.computeOutput),
    })),
    memory_usage: [],
  };
}

/** Statistics of all models, of one, or of one version. */
export function statisticsEndpoints({ dataPlane }: HttpContext): Endpoint[] {
  return [
    {
      paths: ["/v2/models/stats", ...modelPaths("/stats")],
      api: "statistics",
      get: (_request, params) => {
        const { name, version } = modelOf(params);
        const models = dataPlane.statisticsModels(name, version);
        return jsonResponse({ model_stats: models.map(statisticsOf) });
      },
    },
  ];
}
