import { describe, expect, test } from "bun:test";
import { status } from "@grpc/grpc-js";
import { HealthCheckResponse_ServingStatus as ServingStatus } from "#gen/grpc/health/v1/health_pb.ts";
import { InferenceError } from "../../../../src/base/error.ts";
import { GrpcJsClient } from "../../../support/grpc-js-client.ts";
import { GrpcTestServer } from "../../../support/grpc-test-server.ts";
import { echoRequest } from "../../../support/infer-requests.ts";
import { frame, RawGrpcConnection } from "../../../support/raw-grpc-call.ts";

const HEALTH_CHECK = "/grpc.health.v1.Health/Check";

function stringParameter(value: string) {
  return { parameterChoice: { case: "stringParam" as const, value } };
}

async function healthOf(server: GrpcTestServer, headers: Record<string, string> = {}) {
  using connection = new RawGrpcConnection(server.target);
  const call = { path: HEALTH_CHECK, headers, chunks: [frame(Uint8Array.of(0x0a, 1, 0x78))] };
  const answer = await connection.call(call);
  return { status: answer.headers["grpc-status"], message: [...answer.body.subarray(5)] };
}

describe("health rpcs", () => {
  test("tell whether the server lives and is ready", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    expect((await client.call("serverLive", {})).live).toBe(true);
    expect((await client.call("serverReady", {})).ready).toBe(true);
    server.planes.isReady = false;
    expect((await client.call("serverReady", {})).ready).toBe(false);
    server.planes.isLive = false;
    for (const rpc of ["serverLive", "serverReady"] as const) {
      expect(await client.failure(rpc, {})).toMatchObject({
        code: status.UNAVAILABLE,
        details: "Server exiting",
      });
    }
  });

  test("tell whether a model is ready, and NOT_FOUND for one that is not known", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    expect((await client.call("modelReady", { name: "versions", version: "3" })).ready).toBe(true);
    server.planes.model("add_sub", "").isHealthy = false;
    expect((await client.call("modelReady", { name: "add_sub" })).ready).toBe(false);
    expect((await client.failure("modelReady", { name: "nope" })).code).toBe(status.NOT_FOUND);
    expect((await client.failure("modelReady", { name: "" })).code).toBe(status.NOT_FOUND);
  });

  test("of the standard service answer readiness, whatever service is asked for", async () => {
    await using server = await GrpcTestServer.start();
    expect(await healthOf(server)).toEqual({ status: "0", message: [8, ServingStatus.SERVING] });
    server.planes.isReady = false;
    expect(await healthOf(server)).toEqual({
      status: "0",
      message: [8, ServingStatus.NOT_SERVING],
    });
    server.planes.isLive = false;
    expect((await healthOf(server)).status).toBe(String(status.UNAVAILABLE));
  });
});

describe("metadata and configuration", () => {
  test("of the server are its name, version and extensions", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    expect(await client.call("serverMetadata", {})).toMatchObject(server.planes.metadata);
  });

  test("of a model have the batch dimension in front and all ready versions", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const batched = await client.call("modelMetadata", { name: "versions" });
    expect(batched).toMatchObject({
      name: "versions",
      versions: ["1", "3", "10"],
      platform: "in_memory",
    });
    expect(batched.inputs).toMatchObject([{ name: "INPUT0", datatype: "FP32", shape: [-1n, -1n] }]);
    const one = await client.call("modelMetadata", { name: "versions", version: "3" });
    expect(one.versions).toEqual(["3"]);
    const plain = await client.call("modelMetadata", { name: "id_bytes" });
    expect(plain.outputs).toMatchObject([{ name: "OUTPUT0", datatype: "BYTES", shape: [-1n] }]);
  });

  test("of a model include the whole configuration", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const { config } = await client.call("modelConfig", { name: "repeat" });
    expect(config).toMatchObject({ name: "repeat", modelTransactionPolicy: { decoupled: true } });
  });

  test.each(["modelMetadata", "modelConfig"] as const)(
    "of an unknown model are NOT_FOUND by %s",
    async (rpc) => {
      await using server = await GrpcTestServer.start();
      using client = new GrpcJsClient(server.target);
      expect((await client.failure(rpc, { name: "nope" })).code).toBe(status.NOT_FOUND);
      expect((await client.failure(rpc, { name: "versions", version: "2" })).details).toContain(
        "version 2",
      );
      const bad = await client.failure(rpc, { name: "versions", version: "1.0" });
      expect(bad.code).toBe(status.INVALID_ARGUMENT);
    },
  );
});

describe("statistics", () => {
  test("of one model, one version or all have every counter", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    await client.infer(echoRequest([1]));
    const one = { count: 1n, ns: 2n };
    server.planes.model("add_sub", "").statistics.fixedSnapshot = {
      lastInferenceMs: 1_700_000_000_000,
      inferenceCount: 8,
      executionCount: 2,
      success: { count: 1, ns: 2 },
      fail: { count: 1, ns: 2 },
      queue: { count: 1, ns: 2 },
      computeInput: { count: 1, ns: 2 },
      computeInfer: { count: 1, ns: 2 },
      computeOutput: { count: 1, ns: 2 },
      cacheHit: { count: 1, ns: 2 },
      cacheMiss: { count: 1, ns: 2 },
      batches: [
        {
          batchSize: 4,
          computeInput: { count: 1, ns: 2 },
          computeInfer: { count: 1, ns: 2 },
          computeOutput: { count: 1, ns: 2 },
        },
      ],
      failuresByReason: { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 },
    };
    const { modelStats } = await client.call("modelStatistics", { name: "add_sub" });
    expect(modelStats).toMatchObject([
      {
        name: "add_sub",
        version: "1",
        lastInference: 1_700_000_000_000n,
        inferenceCount: 8n,
        executionCount: 2n,
        inferenceStats: {
          success: one,
          fail: one,
          queue: one,
          computeInput: one,
          computeInfer: one,
          computeOutput: one,
          cacheHit: one,
          cacheMiss: one,
        },
        batchStats: [{ batchSize: 4n, computeInput: one, computeInfer: one, computeOutput: one }],
      },
    ]);
    const versions = await client.call("modelStatistics", { name: "versions" });
    expect(versions.modelStats.map((entry) => entry.version)).toEqual(["1", "3", "10"]);
    const all = await client.call("modelStatistics", {});
    expect(all.modelStats.length).toBeGreaterThan(10);
    const failure = await client.failure("modelStatistics", { name: "nope" });
    expect(failure).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: "requested model 'nope' is not available",
    });
  });
});

describe("repository rpcs", () => {
  test("list models, with empty texts for what is not said", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    server.planes.indexEntries = [
      { name: "a", version: "1", state: "READY" },
      { name: "b" },
      { name: "c", version: "2", state: "UNAVAILABLE", reason: "unloaded" },
    ];
    const { models } = await client.call("repositoryIndex", {});
    expect(models).toMatchObject([
      { name: "a", version: "1", state: "READY", reason: "" },
      { name: "b", version: "", state: "", reason: "" },
      { name: "c", version: "2", state: "UNAVAILABLE", reason: "unloaded" },
    ]);
    const ready = await client.call("repositoryIndex", { ready: true });
    expect(ready.models.map((model) => model.name)).toEqual(["a"]);
  });

  test("hand configuration and files of a load on", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    await client.call("repositoryModelLoad", {
      modelName: "m",
      parameters: {
        config: stringParameter("{}"),
        "file:1/model.onnx": {
          parameterChoice: { case: "bytesParam", value: Uint8Array.of(1, 2) },
        },
      },
    });
    expect(server.planes.lastOverrides?.configJson).toBe("{}");
    expect([...(server.planes.lastOverrides?.files?.get("1/model.onnx") ?? [])]).toEqual([1, 2]);
    await client.call("repositoryModelLoad", { modelName: "m" });
    expect(server.planes.lastOverrides).toEqual({});
    await client.call("repositoryModelUnload", {
      modelName: "m",
      parameters: { unload_dependents: { parameterChoice: { case: "boolParam", value: true } } },
    });
    await client.call("repositoryModelUnload", { modelName: "n" });
    expect(server.planes.controlCalls).toEqual([
      "load:m",
      "load:m",
      "unload:m:true",
      "unload:n:false",
    ]);
  });

  test.each([
    [{ foo: stringParameter("x") }, "unrecognized load parameter 'foo'."],
    [
      { config: { parameterChoice: { case: "boolParam" as const, value: true } } },
      "'config', expected string_param",
    ],
    [{ "file:a": stringParameter("x") }, "'file:a', expected bytes_param"],
  ])("refuse load parameters %#", async (parameters, text) => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const failure = await client.failure("repositoryModelLoad", { modelName: "m", parameters });
    expect(failure.code).toBe(status.INVALID_ARGUMENT);
    expect(failure.details).toContain(text);
    expect(server.planes.controlCalls).toEqual([]);
  });

  test("refuse a wrong unload parameter and the name of a repository", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const parameters = { unload_dependents: stringParameter("x") };
    const failure = await client.failure("repositoryModelUnload", { modelName: "m", parameters });
    expect(failure.code).toBe(status.INVALID_ARGUMENT);
    for (const rpc of [
      "repositoryIndex",
      "repositoryModelLoad",
      "repositoryModelUnload",
    ] as const) {
      const refusal = await client.failure(rpc, { repositoryName: "other" });
      expect(refusal.code).toBe(status.UNIMPLEMENTED);
      expect(refusal.details).toContain("'repository_name'");
    }
  });

  test("pass the control plane's errors on", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    server.planes.controlError = new InferenceError(
      "UNAVAILABLE",
      "explicit model load / unload is not allowed",
    );
    const failure = await client.failure("repositoryModelLoad", { modelName: "m" });
    expect(failure).toMatchObject({
      code: status.UNAVAILABLE,
      details: "explicit model load / unload is not allowed",
    });
  });
});

describe("settings rpcs", () => {
  test("read and change the log settings", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const { settings } = await client.call("logSettings", {});
    expect(settings).toMatchObject({
      log_file: stringParameter(""),
      log_info: { parameterChoice: { case: "boolParam", value: true } },
      log_verbose_level: { parameterChoice: { case: "uint32Param", value: 0 } },
      log_format: stringParameter("default"),
    });
    const changed = await client.call("logSettings", {
      settings: {
        log_verbose_level: { parameterChoice: { case: "uint32Param", value: 2 } },
        log_format: stringParameter("ISO8601"),
        log_warning: { parameterChoice: { case: "boolParam", value: false } },
        log_error: { parameterChoice: { case: "boolParam", value: false } },
        unknown: stringParameter("x"),
      },
    });
    expect(changed.settings["log_verbose_level"]?.parameterChoice.value).toBe(2);
    expect(server.planes.logSettings()).toMatchObject({
      logVerboseLevel: 2,
      logFormat: "ISO8601",
      logInfo: true,
      logWarning: false,
      logError: false,
    });
  });

  test.each([
    ["log_info", stringParameter("x"), "expect boolean for 'log_info'", "INVALID_ARGUMENT"],
    ["log_verbose_level", stringParameter("1"), "expect unsigned integer", "INVALID_ARGUMENT"],
    [
      "log_format",
      { parameterChoice: { case: "boolParam" as const, value: true } },
      "expect string",
      "INVALID_ARGUMENT",
    ],
    ["log_file", stringParameter("/x"), "log file location", "UNIMPLEMENTED"],
  ] as const)("refuse %s of the wrong kind", async (name, value, text, code) => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const failure = await client.failure("logSettings", { settings: { [name]: value } });
    expect(failure.code).toBe(status[code]);
    expect(failure.details).toContain(text);
  });

  test("show the trace settings and refuse to change them", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    const { settings } = await client.call("traceSetting", { settings: { trace_rate: {} } });
    expect(settings["trace_level"]?.value).toEqual(["OFF"]);
    const change = { settings: { trace_rate: { value: ["5"] } } };
    expect((await client.failure("traceSetting", change)).code).toBe(status.UNIMPLEMENTED);
    expect((await client.failure("traceSetting", { modelName: "nope" })).code).toBe(
      status.NOT_FOUND,
    );
  });
});

describe("shared-memory rpcs", () => {
  test("know no region and take none", async () => {
    await using server = await GrpcTestServer.start();
    using client = new GrpcJsClient(server.target);
    expect((await client.call("systemSharedMemoryStatus", {})).regions).toEqual({});
    expect((await client.call("cudaSharedMemoryStatus", {})).regions).toEqual({});
    const unknown = await client.failure("cudaSharedMemoryStatus", { name: "r" });
    expect(unknown).toMatchObject({
      code: status.NOT_FOUND,
      details: "Unable to find cuda shared memory region: 'r'",
    });
    for (const rpc of ["systemSharedMemoryRegister", "cudaSharedMemoryUnregister"] as const) {
      expect((await client.failure(rpc, { name: "r" })).code).toBe(status.UNIMPLEMENTED);
    }
  });
});

describe("restricted protocols", () => {
  test("close each group of rpcs to those without its key", async () => {
    const open = { key: "triton-grpc-protocol-k", value: "v" };
    const groups = [
      "health",
      "metadata",
      "model-config",
      "statistics",
      "model-repository",
      "logging",
      "trace",
    ] as const;
    await using server = await GrpcTestServer.start({
      restrictedApis: new Map(groups.map((group) => [group, open])),
    });
    using client = new GrpcJsClient(server.target);
    const rpcs = [
      "serverLive",
      "serverMetadata",
      "modelStatistics",
      "repositoryIndex",
      "logSettings",
      "traceSetting",
    ] as const;
    for (const rpc of rpcs) {
      const failure = await client.failure(rpc, {});
      expect(failure.code).toBe(status.UNAVAILABLE);
      expect(failure.details).toContain(`expecting header '${open.key}'`);
      await client.call(rpc, {}, { metadata: { [open.key]: open.value } });
    }
    expect((await healthOf(server)).status).toBe(String(status.UNAVAILABLE));
    expect((await healthOf(server, { [open.key]: open.value })).status).toBe("0");
    await client.infer(echoRequest([1]));
  });
});
