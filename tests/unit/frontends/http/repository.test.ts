import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { HttpTestServer, readError } from "../../../support/http-test-server.ts";

let server: HttpTestServer;
beforeAll(async () => {
  server = await HttpTestServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

describe("the repository index", () => {
  test("lists what the control plane says; absent members are left out", async () => {
    server.planes.indexEntries = [
      { name: "a", version: "1", state: "READY" },
      { name: "b" },
      { name: "c", version: "1", state: "UNAVAILABLE", reason: "unloaded" },
    ];
    for (const path of ["/v2/repository/index", "/v2/repository/any/index"]) {
      expect(await (await server.post(path)).json()).toEqual(server.planes.indexEntries);
    }
    const ready = await server.post("/v2/repository/index", { ready: true, other: [1] });
    expect(await ready.json()).toEqual([{ name: "a", version: "1", state: "READY" }]);
    const all = await server.post("/v2/repository/index", { ready: false });
    expect(await all.json()).toHaveLength(3);
  });

  test.each(["{", '{"ready":1}', '{"ready":"yes"}', "[]", "null", "[".repeat(1_000_000)])(
    "refuses the body %.20s",
    async (body) => {
      expect((await readError(await server.post("/v2/repository/index", body))).status).toBe(400);
    },
  );
});

describe("loading and unloading", () => {
  test("answer 200 with an empty body and pass the name on", async () => {
    server.planes.controlCalls.length = 0;
    const load = await server.post("/v2/repository/models/m/load");
    expect([load.status, await load.text()]).toEqual([200, ""]);
    await server.post("/v2/repository/models/m/unload");
    await server.post("/v2/repository/models/m/unload", {
      parameters: { unload_dependents: true },
    });
    expect(server.planes.controlCalls).toEqual(["load:m", "unload:m:false", "unload:m:true"]);
  });

  test("a load carries the configuration and the files, decoded", async () => {
    await server.post("/v2/repository/models/m/load", {
      parameters: {
        config: '{"backend":"é"}',
        "file:1/model.onnx": Buffer.from([0, 255, 1]).toString("base64"),
      },
    });
    const overrides = server.planes.lastOverrides;
    expect(overrides?.configJson).toBe('{"backend":"é"}');
    expect(overrides?.files?.get("1/model.onnx")).toEqual(new Uint8Array([0, 255, 1]));
    await server.post("/v2/repository/models/m/load", {});
    expect(server.planes.lastOverrides).toEqual({});
  });

  test.each([
    [{ foo: "x" }, "unrecognized load parameter 'foo'."],
    [{ config: { max_batch_size: 1 } }, "config"],
    [{ config: 5 }, "config"],
    [{ config: "x", "file:1/a": 5 }, "file:1/a"],
    [{ "file:1/a": "%%%" }, "base64"],
    [5, "parameters"],
  ])("load parameters %j are refused", async (parameters, fragment) => {
    const seen = await readError(await server.post("/v2/repository/models/m/load", { parameters }));
    expect(seen.status).toBe(400);
    expect(seen.error).toContain(fragment);
  });

  test("unload parameters of another kind are refused", async () => {
    for (const parameters of [{ unload_dependents: 1 }, { foo: true }, []]) {
      const path = "/v2/repository/models/m/unload";
      expect((await readError(await server.post(path, { parameters }))).status).toBe(400);
    }
  });

  test("a repository name is not supported", async () => {
    for (const action of ["load", "unload"]) {
      expect(await readError(await server.post(`/v2/repository/other/models/m/${action}`))).toEqual(
        { status: 501, error: "'repository_name' specification is not supported" },
      );
    }
  });

  test("errors of the control plane keep their code and text", async () => {
    const text = "explicit model load / unload is not allowed if polling is enabled";
    server.planes.controlError = new InferenceError("UNAVAILABLE", text);
    for (const action of ["load", "unload"]) {
      const seen = await readError(await server.post(`/v2/repository/models/m/${action}`));
      expect(seen).toEqual({ status: 503, error: text });
    }
    server.planes.controlError = undefined;
  });

  test("names arrive decoded, whatever is in them", async () => {
    server.planes.controlCalls.length = 0;
    await server.post("/v2/repository/models/..%2f..%2fetc/load");
    expect(server.planes.controlCalls).toEqual(["load:../../etc"]);
  });
});
