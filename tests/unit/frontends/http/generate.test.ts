import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import { HttpTestServer, readError } from "../../../support/http-test-server.ts";
import { InMemoryModel } from "../../../support/in-memory-model.ts";
import { HeldModel, packBytes } from "../../../support/sample-models.ts";

let server: HttpTestServer;
let report: InMemoryModel;
beforeAll(async () => {
  server = await HttpTestServer.start();
  report = server.planes.add(
    new InMemoryModel({
      name: "report",
      inputs: [["TEXT", "BYTES", [1]]],
      outputs: [["ECHO", "BYTES", [1]]],
      behaviour: (call) => {
        const text = call.input("TEXT");
        call.respond(text ? [{ ...text, name: "ECHO" }] : [], {
          parameters: new Map([
            ["score", { kind: "double", value: 2 }],
            ["Z", { kind: "bool", value: true }],
          ]),
        });
      },
    }),
  );
});
afterAll(() => server[Symbol.asyncDispose]());

function generate(model: string, body: unknown, tail = "generate"): Promise<Response> {
  return server.post(`/v2/models/${model}/${tail}`, body);
}

async function events(response: Response): Promise<unknown[]> {
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const blocks = (await response.text()).split("\n\n");
  expect(blocks.pop()).toBe("");
  return blocks.map((block) => {
    expect(block.startsWith("data: ")).toBe(true);
    return JSON.parse(block.slice(6)) as unknown;
  });
}

function lastRequest(): InferenceRequest {
  const request = report.seen.at(-1);
  if (!request) throw new Error("the model saw no request");
  return request;
}

describe("generate", () => {
  test("answers with outputs by name, members sorted", async () => {
    const response = await generate("id_fp32", { INPUT0: [1, 2.5, 3] });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe(
      '{"OUTPUT0":[1.0,2.5,3.0],"model_name":"id_fp32","model_version":"1"}',
    );
  });

  test.each([
    ["id_fp32", "1.5"],
    ["id_int64", "9007199254740993"],
    ["id_bool", "true"],
    ["id_bytes", '"é😀\\n\\""'],
    ["id_fp64", "NaN"],
  ])(
    "%s takes a single element as a scalar or a list and gives a scalar back",
    async (model, value) => {
      for (const body of [`{"INPUT0":${value}}`, `{ "INPUT0" : [ ${value} ] }`]) {
        expect(await (await generate(model, body)).text()).toContain(`"OUTPUT0":${value},`);
      }
    },
  );

  test("an empty list is an empty tensor", async () => {
    expect(await (await generate("id_fp32", { INPUT0: [] })).text()).toContain('"OUTPUT0":[]');
  });

  test("the batch dimension is filled in, and what is left goes to the innermost free one", async () => {
    await generate("batched", { INPUT0: [1, 2, 3] });
    expect(server.planes.model("batched", "").seen.at(-1)?.signature.inputs[0]?.shape).toEqual([
      1, 3,
    ]);
    await generate("add_sub", { INPUT0: new Array(32).fill(1), INPUT1: new Array(32).fill(1) });
    expect(server.planes.model("add_sub", "").seen.at(-1)?.signature.inputs[0]?.shape).toEqual([
      2, 16,
    ]);
  });

  test("a number of elements that fits no shape is refused by name", async () => {
    const body = { INPUT0: new Array(15).fill(1), INPUT1: new Array(15).fill(1) };
    expect(await readError(await generate("add_sub", body))).toEqual({
      status: 400,
      error: "The schema can not convert input 'INPUT0' to tensor with proper shape",
    });
    expect((await readError(await generate("report", { TEXT: ["a", "b"] }))).status).toBe(400);
  });

  test("members that are no inputs become parameters, those of `parameters` too", async () => {
    await generate("report", {
      TEXT: "x",
      p: 1,
      q: 1.5,
      r: true,
      id: "g-1",
      parameters: { s: "t" },
    });
    expect(lastRequest().id).toBe("g-1");
    expect([...lastRequest().signature.parameters]).toEqual([
      ["p", { kind: "int64", value: 1n }],
      ["q", { kind: "double", value: 1.5 }],
      ["r", { kind: "bool", value: true }],
      ["id", { kind: "string", value: "g-1" }],
      ["s", { kind: "string", value: "t" }],
    ]);
  });

  test("response parameters are members, and the id comes back", async () => {
    const response = await generate("report", { parameters: { TEXT: "inside" }, id: "i" });
    expect(await response.text()).toBe(
      '{"ECHO":"inside","Z":true,"id":"i","model_name":"report","model_version":"1","score":2.0}',
    );
  });

  test.each([
    "{",
    "",
    "null",
    "[]",
    "5",
    { TEXT: 1 },
    { TEXT: null },
    { TEXT: { a: 1 } },
    { TEXT: [["a"]] },
    { TEXT: "x", parameters: 5 },
    { TEXT: "x", parameters: null },
    { TEXT: "x", id: 7 },
    { TEXT: "x", p: [1] },
    { TEXT: "x", p: { a: 1 } },
    { TEXT: "x", p: null },
    { TEXT: "x", parameters: { p: [1] } },
    { TEXT: "x", parameters: { TEXT: "y" } },
    { TEXT: "x", triton_x: 1 },
    "[".repeat(1_000_000),
  ])("the body %.40j is refused", async (body) => {
    for (const tail of ["generate", "generate_stream"]) {
      expect((await readError(await generate("report", body, tail))).status).toBe(400);
    }
  });

  test("a value of the wrong type is refused by its key", async () => {
    const seen = await readError(await generate("repeat", { COUNT: "two", TEXT: "x" }));
    expect(seen.error).toContain("COUNT");
  });

  test("a missing input is refused by name, a half type with a hint", async () => {
    for (const tail of ["generate", "generate_stream"]) {
      const seen = await readError(await generate("repeat", { COUNT: 1 }, tail));
      expect(seen.status).toBe(400);
      expect(seen.error).toContain("TEXT");
    }
    expect((await readError(await generate("id_fp16", { INPUT0: 1 }))).error).toContain("FP16");
  });

  test("a failing model answers its own error", async () => {
    const response = await generate("failing", { INPUT0: 1 });
    expect(await readError(response)).toEqual({ status: 500, error: "asked to fail" });
  });

  test("a decoupled model with one response will do, another number will not", async () => {
    expect(await (await generate("repeat", { COUNT: 1, TEXT: "t" })).json()).toEqual({
      INDEX: 0,
      TEXT_OUT: "t0",
      model_name: "repeat",
      model_version: "1",
    });
    for (const count of [0, 3, -1]) {
      const seen = await readError(await generate("repeat", { COUNT: count, TEXT: "t" }));
      expect(seen.status).toBe(400);
      expect(seen.error).toContain("generate expects model to produce exactly 1 response");
    }
    expect(server.planes.inflightCount).toBe(0);
  });

  test("a compressed request is refused", async () => {
    const response = await server.post("/v2/models/id_fp32/generate", "{}", {
      "content-encoding": "gzip",
    });
    expect(await readError(response)).toEqual({
      status: 400,
      error: "Unsupported content-encoding, only 'identity' is supported.",
    });
  });

  test("an unknown model is 404 and a version can be chosen", async () => {
    for (const tail of ["generate", "generate_stream"]) {
      expect((await readError(await generate("nope", {}, tail))).status).toBe(404);
    }
    const response = await server.post("/v2/models/versions/versions/3/generate", { INPUT0: 3 });
    expect(await response.json()).toMatchObject({ model_version: "3" });
  });
});

describe("generate_stream", () => {
  const stream = (model: string, body: unknown) => generate(model, body, "generate_stream");

  test("has one event for each response and nothing else", async () => {
    const response = await stream("repeat", { COUNT: 3, TEXT: "tü\n\n", id: "i1" });
    expect(response.status).toBe(200);
    expect(await events(response)).toEqual(
      [0, 1, 2].map((i) => ({
        INDEX: i,
        TEXT_OUT: `tü\n\n${i}`,
        id: "i1",
        model_name: "repeat",
        model_version: "1",
      })),
    );
  });

  test("without responses is empty; of an ordinary model it has one event", async () => {
    expect(await events(await stream("repeat", { COUNT: 0, TEXT: "t" }))).toEqual([]);
    expect(await events(await stream("id_fp32", { INPUT0: [1, 2] }))).toHaveLength(1);
  });

  test("takes its status from the first event; a later error is the last event", async () => {
    const first = await stream("failing", { INPUT0: 1 });
    expect(first.status).toBe(500);
    expect(await events(first)).toEqual([{ error: "asked to fail" }]);
    const later = await stream("repeat", { COUNT: -2, TEXT: "t" });
    expect(later.status).toBe(200);
    expect((await events(later)).at(-1)).toEqual({ error: "negative count" });
  });

  test("many events arrive complete and in order", async () => {
    const seen = await events(await stream("repeat", { COUNT: 500, TEXT: "x".repeat(200) }));
    expect(seen.map((event) => (event as { INDEX: number }).INDEX)).toEqual([...Array(500).keys()]);
  });

  test("events arrive as the model sends them, and a client that leaves cancels", async () => {
    const slow = server.planes.add(new HeldModel("slow_stream"));
    const controller = new AbortController();
    const pending = fetch(`${server.url}/v2/models/slow_stream/generate_stream`, {
      method: "POST",
      body: '{"INPUT0":[1]}',
      signal: controller.signal,
    });
    while (slow.held.length === 0) await Bun.sleep(1);
    const [call] = slow.held;
    const tensor = call?.input("INPUT0");
    if (!call || !tensor) throw new Error("no request was held");
    call.respond([{ ...tensor, name: "OUTPUT0" }], { isFinal: false });
    const response = await pending;
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"OUTPUT0":1');
    expect(call.request.isCancelled).toBe(false);
    controller.abort();
    while (!call.request.isEnded) await Bun.sleep(1);
    expect(slow.statistics.snapshot().failuresByReason.CANCELED).toBe(1);
  });

  test("a client that does not read stops its own request, not the server", async () => {
    const big = packBytes(["x".repeat(1_000_000)]);
    const flood = server.planes.add(
      new InMemoryModel({
        name: "flood",
        inputs: [["INPUT0", "INT32", [-1]]],
        outputs: [["OUTPUT0", "BYTES", [1]]],
        isDecoupled: true,
        behaviour: (call) => {
          for (let i = 0; i < 100 && !call.request.isCancelled; i++) {
            const output = { name: "OUTPUT0", datatype: "BYTES", shape: [1], bytes: big } as const;
            call.respond([output], { isFinal: false });
          }
          if (!call.request.isCancelled) call.complete();
        },
      }),
    );
    const text = await (await stream("flood", { INPUT0: 1 })).text();
    expect(text).toContain("the client reads too slowly");
    expect(text.length).toBeLessThan(40_000_000);
    expect(flood.seen.at(-1)?.isCancelled).toBe(true);
  });
});
