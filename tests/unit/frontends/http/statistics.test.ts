import { describe, expect, test } from "bun:test";
import type { ModelStatisticsSnapshot } from "../../../../src/core/statistics/model-statistics.ts";
import { HttpTestServer, readError } from "../../../support/http-test-server.ts";

const total = (count: number) => ({ count, ns: count * 10 });
const SNAPSHOT: ModelStatisticsSnapshot = {
  lastInferenceMs: 1_700_000_000_000,
  inferenceCount: 11,
  executionCount: 5,
  success: total(5),
  fail: total(1),
  queue: total(2),
  computeInput: total(3),
  computeInfer: total(4),
  computeOutput: total(6),
  cacheHit: total(7),
  cacheMiss: total(8),
  batches: [
    { batchSize: 4, computeInput: total(1), computeInfer: total(2), computeOutput: total(3) },
  ],
  failuresByReason: { REJECTED: 0, CANCELED: 0, BACKEND: 1, OTHER: 0 },
};

describe("the statistics extension", () => {
  test("shows every count and duration, members in Triton's order", async () => {
    await using server = await HttpTestServer.start();
    server.planes.model("add_sub", "").statistics.fixedSnapshot = SNAPSHOT;
    const response = await server.get("/v2/models/add_sub/stats");
    expect(await response.text()).toBe(
      JSON.stringify({
        model_stats: [
          {
            name: "add_sub",
            version: "1",
            last_inference: 1_700_000_000_000,
            inference_count: 11,
            execution_count: 5,
            inference_stats: {
              success: total(5),
              fail: total(1),
              queue: total(2),
              compute_input: total(3),
              compute_infer: total(4),
              compute_output: total(6),
              cache_hit: total(7),
              cache_miss: total(8),
            },
            response_stats: {},
            batch_stats: [
              {
                batch_size: 4,
                compute_input: total(1),
                compute_infer: total(2),
                compute_output: total(3),
              },
            ],
            memory_usage: [],
          },
        ],
      }),
    );
  });

  test("covers all models, one model, or one version", async () => {
    await using server = await HttpTestServer.start();
    const versions = async (path: string) => {
      const body = (await (await server.get(path)).json()) as {
        model_stats: { name: string; version: string }[];
      };
      return body.model_stats.map((entry) => `${entry.name}/${entry.version}`);
    };
    expect((await versions("/v2/models/stats")).slice(-3)).toEqual([
      "versions/1",
      "versions/3",
      "versions/10",
    ]);
    expect(await versions("/v2/models/versions/stats")).toHaveLength(3);
    expect(await versions("/v2/models/versions/versions/3/stats")).toEqual(["versions/3"]);
  });

  test("refuses an unknown model or version by name", async () => {
    await using server = await HttpTestServer.start();
    expect(await readError(await server.get("/v2/models/nope/stats"))).toEqual({
      status: 400,
      error: "requested model 'nope' is not available",
    });
    const version = await readError(await server.get("/v2/models/versions/versions/9/stats"));
    expect(version.error).toContain("'versions'");
  });
});
