import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { HttpTestServer, readError } from "../../../support/http-test-server.ts";

const LOG_DEFAULT = {
  log_file: "",
  log_info: true,
  log_warning: true,
  log_error: true,
  log_verbose_level: 0,
  log_format: "default",
};
const TRACE_DEFAULT = {
  trace_level: ["OFF"],
  trace_rate: "1000",
  trace_count: "-1",
  log_frequency: "0",
  trace_file: "",
  trace_mode: "triton",
};

let server: HttpTestServer;
beforeAll(async () => {
  server = await HttpTestServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

describe("log settings", () => {
  test("are all shown", async () => {
    expect(await (await server.get("/v2/logging")).json()).toEqual(LOG_DEFAULT);
  });

  test.each([
    ["log_info", false],
    ["log_warning", false],
    ["log_error", false],
    ["log_verbose_level", 1],
    ["log_format", "ISO8601"],
  ] as const)("an update of %s answers with the full new state and lasts", async (key, value) => {
    const changed = await server.post("/v2/logging", { [key]: value });
    expect(await changed.json()).toEqual({ ...LOG_DEFAULT, [key]: value });
    expect(await (await server.get("/v2/logging")).json()).toEqual({
      ...LOG_DEFAULT,
      [key]: value,
    });
    await server.post("/v2/logging", { [key]: LOG_DEFAULT[key] });
  });

  test.each([
    [{ log_info: 1 }, 400],
    [{ log_info: "false" }, 400],
    [{ log_verbose_level: -1 }, 400],
    [{ log_verbose_level: "1" }, 400],
    [{ log_format: 1 }, 400],
    [{ log_format: "foo" }, 503],
    [{ log_file: "/tmp/x" }, 501],
    ["{", 400],
    ["", 400],
    ["[".repeat(1_000_000), 400],
    ['{"a":'.repeat(300_000), 400],
  ] as const)("a bad update (%j) is refused and changes nothing", async (body, status) => {
    expect((await readError(await server.post("/v2/logging", body))).status).toBe(status);
    expect(await (await server.get("/v2/logging")).json()).toEqual(LOG_DEFAULT);
  });

  test("null and unknown settings are ignored", async () => {
    const seen = await server.post("/v2/logging", { foo: 1, log_info: null, log_file: null });
    expect(await seen.json()).toEqual(LOG_DEFAULT);
  });
});

describe("trace settings", () => {
  test.each(["/v2/trace/setting", "/v2/models/add_sub/trace/setting"])(
    "of %s are those of a server that does not trace",
    async (path) => {
      expect(await (await server.get(path)).json()).toEqual(TRACE_DEFAULT);
      const body = { trace_rate: null, foo: "1" };
      expect(await (await server.post(path, body)).json()).toEqual(TRACE_DEFAULT);
    },
  );

  test("an unknown model is named", async () => {
    for (const call of [server.get, server.post]) {
      const seen = await readError(await call.call(server, "/v2/models/nope/trace/setting"));
      expect(seen.status).toBe(404);
      expect(seen.error).toContain("nope");
    }
  });

  test("a change is refused as not supported, a malformed one as malformed", async () => {
    const path = "/v2/trace/setting";
    expect((await readError(await server.post(path, { trace_rate: "7" }))).status).toBe(501);
    for (const body of ["{", "", "[".repeat(1_000_000)]) {
      expect((await readError(await server.post(path, body))).status).toBe(400);
    }
  });
});

describe("shared memory", () => {
  test.each(["system", "cuda"])("of kind %s has no regions and takes none", async (kind) => {
    const root = `/v2/${kind}sharedmemory`;
    expect(await (await server.get(`${root}/status`)).json()).toEqual([]);
    expect(await readError(await server.get(`${root}/region/r/status`))).toEqual({
      status: 404,
      error: `Unable to find ${kind} shared memory region: 'r'`,
    });
    for (const action of ["region/r/register", "region/r/unregister", "unregister"]) {
      const seen = await readError(await server.post(`${root}/${action}`, { key: "/k" }));
      expect(seen.status).toBe(501);
      expect(seen.error).toContain("shared memory");
    }
  });
});
