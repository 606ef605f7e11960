import { describe, expect, test } from "bun:test";
import { isAllowedOrigin } from "../../../../src/frontends/http/rpc-mount.ts";
import type { ApiName } from "../../../../src/frontends/rpc-apis.ts";
import { HttpTestServer, readError } from "../../../support/http-test-server.ts";
import { sumRequest } from "./sum-request.ts";

const RPC = "/inference.GRPCInferenceService/ServerLive";

describe("restricted apis", () => {
  const PATHS: readonly (readonly [ApiName, "GET" | "POST", string])[] = [
    ["health", "GET", "/v2/health/live"],
    ["health", "GET", "/v2/models/add_sub/ready"],
    ["metadata", "GET", "/v2"],
    ["metadata", "GET", "/v2/models/add_sub"],
    ["inference", "POST", "/v2/models/add_sub/infer"],
    ["inference", "POST", "/v2/models/add_sub/generate"],
    ["inference", "POST", "/v2/models/add_sub/generate_stream"],
    ["shared-memory", "GET", "/v2/systemsharedmemory/status"],
    ["model-config", "GET", "/v2/models/add_sub/config"],
    ["model-repository", "POST", "/v2/repository/index"],
    ["model-repository", "POST", "/v2/repository/models/m/load"],
    ["statistics", "GET", "/v2/models/stats"],
    ["trace", "GET", "/v2/trace/setting"],
    ["logging", "GET", "/v2/logging"],
    ["health", "POST", RPC],
    ["health", "POST", "/grpc.health.v1.Health/Check"],
    ["health", "POST", "/grpc.health.v1.Health/Watch"],
    ["health", "POST", "/grpc.health.v1.Health/List"],
    ["inference", "POST", "/inference.GRPCInferenceService/ModelInfer"],
    ["logging", "POST", "/inference.GRPCInferenceService/LogSettings"],
  ];

  test.each(PATHS)("%s closes %s %s, and no other group does", async (api, method, path) => {
    await using server = await HttpTestServer.start({
      restrictedApis: new Map([[api, { key: "x-key", value: "secret" }]]),
      rpcHandler: () => new Response("rpc"),
    });
    for (const headers of [{}, { "x-key": "wrong" }]) {
      const response = await fetch(server.url + path, { method, headers });
      expect(await readError(response)).toEqual({
        status: 403,
        error: "This API is restricted, expecting header 'x-key'",
      });
    }
    const open = await fetch(server.url + path, { method, headers: { "X-Key": "secret" } });
    expect(open.status).not.toBe(403);
    for (const [other, otherMethod, otherPath] of PATHS) {
      if (other === api) continue;
      const response = await fetch(server.url + otherPath, { method: otherMethod });
      expect(response.status).not.toBe(403);
    }
  });
});

describe("forwarded headers", () => {
  const parametersSeen = async (pattern: string, headers: Record<string, string>) => {
    await using server = await HttpTestServer.start({ headerForwardPattern: pattern });
    const request = sumRequest({ parameters: { own: 1 } });
    const response = await server.infer("add_sub", request, undefined, headers);
    if (response.status !== 200) return await readError(response);
    const { signature } = server.planes.model("add_sub", "").seen[0] ?? {};
    return Object.fromEntries([...(signature?.parameters ?? [])].map(([k, v]) => [k, v.value]));
  };

  test("become string parameters where the pattern matches a part of their name", async () => {
    const headers = { "X-Forward-One": "1", "x-other": "2" };
    expect(await parametersSeen("forward-", headers)).toEqual({ own: 1n, "x-forward-one": "1" });
    expect(await parametersSeen("(?i)^X-FORWARD", headers)).toEqual({
      own: 1n,
      "x-forward-one": "1",
    });
    expect(await parametersSeen("", headers)).toEqual({ own: 1n });
  });

  test("keep UTF-8 values", async () => {
    const value = Buffer.from("größe").toString("latin1");
    expect(await parametersSeen("^x-f$", { "x-f": value })).toEqual({ own: 1n, "x-f": "größe" });
  });

  test("must not forge what belongs to the server", async () => {
    for (const name of ["priority", "timeout", "triton_x", "headers"]) {
      expect(await parametersSeen(".*", { [name]: "1" })).toEqual({
        status: 400,
        error: `Header '${name}' is reserved for Triton usage and cannot be forwarded.`,
      });
    }
  });

  test("a bad pattern fails the start by name", async () => {
    await expect(HttpTestServer.start({ headerForwardPattern: "(" })).rejects.toThrow(
      "--http-header-forward-pattern '('",
    );
  });
});

describe("the rpc mount", () => {
  test("hands requests of both services on, and only those", async () => {
    await using server = await HttpTestServer.start({
      rpcHandler: async (request) =>
        new Response(`${new URL(request.url).pathname} ${await request.text()}`),
    });
    for (const path of [RPC, "/grpc.health.v1.Health/Check"]) {
      expect(await (await server.post(path, "hello")).text()).toBe(`${path} hello`);
    }
    expect((await server.get("/other.Service/Call")).status).toBe(404);
  });

  test("pages of this machine may call it, others not", async () => {
    await using server = await HttpTestServer.start({ rpcHandler: () => new Response("ok") });
    const local = await server.post(RPC, "", { origin: "http://localhost:5173" });
    expect(local.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    expect(local.headers.get("access-control-expose-headers")).toContain("grpc-status");
    const foreign = await server.post(RPC, "", { origin: "https://example.com" });
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
    expect(foreign.headers.get("vary")).toBe("Origin");
  });

  test("a preflight is answered without asking the handler", async () => {
    await using server = await HttpTestServer.start({
      corsOrigins: ["https://app.example"],
      rpcHandler: () => {
        throw new Error("asked");
      },
    });
    const preflight = (origin: string) =>
      fetch(server.url + RPC, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,x-mine",
        },
      });
    const allowed = await preflight("https://app.example");
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-headers")).toBe("content-type,x-mine");
    expect(allowed.headers.get("access-control-allow-methods")).toContain("POST");
    const refused = await preflight("http://localhost");
    expect(refused.headers.get("access-control-allow-origin")).toBeNull();
  });

  test.each([
    [["*"], "null", true],
    [["null"], "null", true],
    [["http://localhost"], "null", false],
    [["http://localhost"], "http://localhost", true],
    [["http://localhost"], "http://localhost:3000", true],
    [["http://localhost"], "http://localhost.evil.com", false],
    [["http://localhost"], "https://localhost", false],
    [["http://localhost:3000"], "http://localhost:3001", false],
    [["http://[::1]"], "http://[::1]:80", true],
    [["http://[::1]"], "http://[::1", false],
    [[], "http://localhost", false],
  ] as const)("of %j the origin %s is allowed: %p", (allowed, origin, isAllowed) => {
    expect(isAllowedOrigin(allowed, origin)).toBe(isAllowed);
  });
});
