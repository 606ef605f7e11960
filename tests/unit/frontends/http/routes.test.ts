import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { HttpTestServer, readError } from "../../../support/http-test-server.ts";

let server: HttpTestServer;
beforeAll(async () => {
  server = await HttpTestServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

describe("paths", () => {
  test.each([
    "/",
    "/v2/",
    "/foo",
    "/v2/models",
    "/v2/health",
    "/v2/models/add_sub/",
    "/v2/models/add_sub/foo",
    "/v2/models/add_sub/versions/1/trace/setting",
    "/V2",
    "/inference.GRPCInferenceService/ServerLive",
  ])("%s is unknown: 404 with a JSON error", async (path) => {
    expect(await readError(await server.get(path))).toEqual({ status: 404, error: "Not Found" });
  });

  test.each([
    ["POST", "/v2/health/live"],
    ["PUT", "/v2"],
    ["DELETE", "/v2/models/add_sub"],
    ["GET", "/v2/models/add_sub/infer"],
    ["PATCH", "/v2/models/add_sub/versions/1/infer"],
    ["GET", "/v2/repository/index"],
    ["GET", "/v2/models/add_sub/generate"],
    ["OPTIONS", "/v2/models/add_sub/generate_stream"],
    ["POST", "/v2/models/stats"],
    ["POST", "/v2/systemsharedmemory/status"],
    ["PROPFIND", "/v2/logging"],
  ])("%s %s is not possible: 405 with a JSON error", async (method, path) => {
    const response = await fetch(server.url + path, { method });
    expect(await readError(response)).toEqual({ status: 405, error: "Method Not Allowed" });
  });

  test("HEAD is refused like any other method", async () => {
    expect((await fetch(`${server.url}/v2`, { method: "HEAD" })).status).toBe(405);
  });

  test("a query string is ignored and a percent-encoded model name is decoded", async () => {
    for (const path of ["/v2/models/add_sub?x=1", "/v2/models/add%5Fsub"]) {
      expect(await (await server.get(path)).json()).toMatchObject({ name: "add_sub" });
    }
  });

  test.each(["%zz", "a%2Fb", "%E4", "%00", "..%2f..%2fetc"])(
    "a model name with the escapes %s is unknown, no more",
    async (name) => {
      expect((await readError(await server.get(`/v2/models/${name}`))).status).toBe(404);
    },
  );
});

describe("health", () => {
  test.each([
    "/v2/health/live",
    "/v2/health/ready",
    "/v2/models/add_sub/ready",
    "/v2/models/versions/versions/3/ready",
  ])("%s answers 200 with an empty body and no content type", async (path) => {
    const response = await server.get(path);
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("content-type")).toBeNull();
  });

  test("a server that is not ready answers 400 with an empty body", async () => {
    await using own = await HttpTestServer.start();
    own.planes.isReady = false;
    const response = await own.get("/v2/health/ready");
    expect([response.status, await response.text()]).toEqual([400, ""]);
    expect((await own.get("/v2/health/live")).status).toBe(200);
    own.planes.isLive = false;
    expect((await own.get("/v2/health/live")).status).toBe(400);
  });

  test("a server that goes down says so", async () => {
    await using own = await HttpTestServer.start();
    own.frontend.beginExit();
    for (const path of ["/v2/health/live", "/v2/health/ready"]) {
      expect(await readError(await own.get(path))).toEqual({
        status: 503,
        error: "Server exiting",
      });
    }
  });

  test("an unhealthy model answers 400, an unknown one 404", async () => {
    const model = server.planes.model("versions", "3");
    model.isHealthy = false;
    expect(await readError(await server.get("/v2/models/versions/versions/3/ready"))).toEqual({
      status: 400,
      error: "Model version not ready",
    });
    model.isHealthy = true;
    const unknown = await readError(await server.get("/v2/models/nope/ready"));
    expect(unknown.status).toBe(404);
    expect(unknown.error).toContain("nope");
  });
});

describe("metadata", () => {
  test("of the server has name, version and extensions", async () => {
    const response = await server.get("/v2");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ ...server.planes.metadata });
  });

  test("of a batching model has the batch dimension and versions as strings", async () => {
    expect(await (await server.get("/v2/models/add_sub")).json()).toEqual({
      name: "add_sub",
      versions: ["1"],
      platform: "in_memory",
      inputs: [
        { name: "INPUT0", datatype: "INT32", shape: [-1, 16] },
        { name: "INPUT1", datatype: "INT32", shape: [-1, 16] },
      ],
      outputs: [
        { name: "OUTPUT0", datatype: "INT32", shape: [-1, 16] },
        { name: "OUTPUT1", datatype: "INT32", shape: [-1, 16] },
      ],
    });
  });

  test("of a model without batching has its dims", async () => {
    expect(await (await server.get("/v2/models/id_bytes")).json()).toMatchObject({
      inputs: [{ name: "INPUT0", datatype: "BYTES", shape: [-1] }],
    });
  });

  test("lists all versions in order, or only the one asked for", async () => {
    const all = (await (await server.get("/v2/models/versions")).json()) as { versions: string[] };
    expect(all.versions).toEqual(["1", "3", "10"]);
    const one = await (await server.get("/v2/models/versions/versions/3")).json();
    expect(one).toMatchObject({ versions: ["3"] });
  });

  test.each(["", "/config"])(
    "of an unknown model or version%s is 404 and names it",
    async (tail) => {
      const model = await readError(await server.get(`/v2/models/nope${tail}`));
      expect(model).toEqual({
        status: 404,
        error: "Request for unknown model: 'nope' is not found",
      });
      const version = await readError(await server.get(`/v2/models/versions/versions/2${tail}`));
      expect(version).toEqual({
        status: 404,
        error: "Request for unknown model: 'versions' version 2 is not found",
      });
    },
  );

  test("a version that is no number is refused by its text", async () => {
    const seen = await readError(await server.get("/v2/models/versions/versions/abc"));
    expect(seen.status).toBe(400);
    expect(seen.error).toContain("'abc'");
  });

  test("the configuration is what the formatter makes of the model", async () => {
    const response = await server.get("/v2/models/versions/versions/10/config");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ name: "versions", max_batch_size: 8 });
  });
});

describe("unexpected exceptions", () => {
  test("answer 500 without their text, which goes to the log", async () => {
    await using own = await HttpTestServer.start({
      formatConfig: () => {
        throw new TypeError("secret detail");
      },
    });
    expect(await readError(await own.get("/v2/models/add_sub/config"))).toEqual({
      status: 500,
      error: "internal error",
    });
    expect(own.logger.messages("error")).toHaveLength(1);
    expect(String(own.logger.records[0]?.fields["error"])).toContain("secret detail");
    expect((await own.get("/v2/health/live")).status).toBe(200);
  });
});
