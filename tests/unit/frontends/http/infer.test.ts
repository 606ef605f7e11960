import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Datatype } from "../../../../src/base/datatype.ts";
import {
  HttpTestServer,
  LENGTH_HEADER,
  readError,
  readInferResponse,
} from "../../../support/http-test-server.ts";
import type { InMemoryModel } from "../../../support/in-memory-model.ts";
import { packBytes, sampleModels } from "../../../support/sample-models.ts";
import { A, B, blobInput, bytesOf, jsonInput, sumBlobs, sumRequest } from "./sum-request.ts";

let server: HttpTestServer;
beforeAll(async () => {
  server = await HttpTestServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const SUM = A.map((value, i) => value + (B[i] ?? 0));
const DIFFERENCE = A.map((value, i) => value - (B[i] ?? 0));

function lastSeen(model: InMemoryModel) {
  const request = model.seen.at(-1);
  if (!request) throw new Error("the model saw no request");
  return request;
}

test("a model that is replaced while a body comes in answers by its newest version", async () => {
  const body = JSON.stringify(sumRequest());
  const rest = Promise.withResolvers<void>();
  async function* parts() {
    yield body.slice(0, 20);
    await rest.promise;
    yield body.slice(20);
  }
  await using own = await HttpTestServer.start();
  const response = fetch(`${own.url}/v2/models/add_sub/infer`, { method: "POST", body: parts() });
  await Bun.sleep(20);
  const newer = sampleModels().find(({ name }) => name === "add_sub");
  if (newer === undefined) throw new Error("there is no such sample");
  own.planes.add(Object.assign(newer, { version: 2, versionText: "2" }));
  rest.resolve();
  expect((await readInferResponse(await response)).head.model_version).toBe("2");
});

describe("forms of an inference", () => {
  test("JSON in, JSON out: members in Triton's order, data flat", async () => {
    const response = await server.infer("add_sub", sumRequest({ id: "7" }));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get(LENGTH_HEADER)).toBeNull();
    expect(await response.text()).toBe(
      `{"id":"7","model_name":"add_sub","model_version":"1","outputs":[` +
        `{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"data":[${SUM}]},` +
        `{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"data":[${DIFFERENCE}]}]}`,
    );
  });

  test("binary in, binary out, the same header again and again with other ids and bytes", async () => {
    for (const id of ["a", "b", "", "a long one ".repeat(100), 'with "quotes" \\ and é']) {
      for (const factor of [1, 2]) {
        const left = A.map((value) => value * factor);
        const { request } = sumBlobs({ id, parameters: { binary_data_output: true } });
        const response = await server.infer("add_sub", request, [bytesOf(left), bytesOf(B)]);
        expect(response.headers.get("content-type")).toBe("application/octet-stream");
        const { head, blobs } = await readInferResponse(response);
        expect(head.id).toBe(id === "" ? undefined : (id as never));
        expect(head.outputs[0]).toEqual({
          name: "OUTPUT0",
          datatype: "INT32",
          shape: [1, 16],
          parameters: { binary_data_size: 64 },
        });
        expect(blobs["OUTPUT0"]).toEqual(bytesOf(left.map((value, i) => value + (B[i] ?? 0))));
      }
    }
  });

  test("a remembered header is the same signature, and validated once", async () => {
    const model = server.planes.model("add_sub", "");
    const signatures = new Set<object>();
    for (const id of ["1", "2", "3"]) {
      const { request, blobs } = sumBlobs();
      await server.infer("add_sub", `{"id":"${id}",${JSON.stringify(request).slice(1)}`, blobs);
      signatures.add(lastSeen(model).signature);
    }
    expect(signatures.size).toBe(1);
  });

  test("blobs follow the order of the inputs in the request", async () => {
    const request = {
      inputs: [
        blobInput("INPUT1", "INT32", [1, 16], 64),
        blobInput("INPUT0", "INT32", [1, 16], 64),
      ],
    };
    const response = await server.infer("add_sub", request, [bytesOf(B), bytesOf(A)]);
    expect((await readInferResponse(response)).head.outputs[1]?.data).toEqual([...DIFFERENCE]);
  });

  test("JSON and binary inputs can be mixed", async () => {
    const request = {
      inputs: [
        jsonInput("INPUT0", "INT32", [1, 16], [...A]),
        blobInput("INPUT1", "INT32", [1, 16], 64),
      ],
    };
    for (let i = 0; i < 2; i++) {
      const response = await server.infer("add_sub", request, [bytesOf(B)]);
      expect((await readInferResponse(response)).head.outputs[0]?.data).toEqual([...SUM]);
    }
  });

  test.each([
    "BOOL",
    "UINT8",
    "UINT16",
    "UINT64",
    "INT8",
    "INT64",
    "FP16",
    "BF16",
    "FP64",
  ] as Datatype[])("%s passes through in binary, bit by bit", async (datatype) => {
    const blob = new Uint8Array([1, 0, 0xff, 0x7b, 0, 0xfc, 1, 0x7e]);
    const elementBytes = { BOOL: 1, UINT8: 1, INT8: 1, UINT64: 8, INT64: 8, FP64: 8 }[
      datatype as string
    ];
    const count = 8 / (elementBytes ?? 2);
    const request = {
      inputs: [blobInput("INPUT0", datatype, [count], 8)],
      parameters: { binary_data_output: true },
    };
    const response = await server.infer(`id_${datatype.toLowerCase()}`, request, [blob]);
    expect((await readInferResponse(response)).blobs["OUTPUT0"]).toEqual(blob);
  });

  test("a half type cannot be sent as JSON", async () => {
    const request = { inputs: [blobInput("INPUT0", "FP16", [2], 4)] };
    const seen = await readError(await server.infer("id_fp16", request, [new Uint8Array(4)]));
    expect(seen).toEqual({
      status: 400,
      error:
        "sending FP16 data via JSON is not supported. Please use the binary data format for output OUTPUT0",
    });
  });

  test("special floats leave and enter as bare literals", async () => {
    const body =
      '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[5],"data":[NaN,Infinity,-Infinity,-0.0,2]}]}';
    const text = await (await server.infer("id_fp32", body)).text();
    expect(text).toContain('"data":[NaN,Infinity,-Infinity,-0.0,2.0]');
  });

  test("an all-empty binary answer is plain JSON without the length header", async () => {
    const request = {
      inputs: [blobInput("INPUT0", "FP32", [0], 0)],
      parameters: { binary_data_output: true },
    };
    const response = await server.infer("id_fp32", request, [new Uint8Array(0)]);
    expect(response.headers.get(LENGTH_HEADER)).toBeNull();
    expect((await readInferResponse(response)).head.outputs[0]).toEqual({
      name: "OUTPUT0",
      datatype: "FP32",
      shape: [0],
      parameters: { binary_data_size: 0 },
    });
  });

  test("the empty tensor in JSON", async () => {
    const request = { inputs: [jsonInput("INPUT0", "BYTES", [0], [])] };
    const { head } = await readInferResponse(await server.infer("id_bytes", request));
    expect(head.outputs[0]).toEqual({ name: "OUTPUT0", datatype: "BYTES", shape: [0], data: [] });
  });

  test("strings of any bytes pass in binary", async () => {
    const blob = packBytes([new Uint8Array([0xff, 0xfe, 0]), "", "é\0"]);
    const request = {
      inputs: [blobInput("INPUT0", "BYTES", [3], blob.byteLength)],
      outputs: [{ name: "OUTPUT0", parameters: { binary_data: true } }],
    };
    const response = await server.infer("id_bytes", request, [blob]);
    expect((await readInferResponse(response)).blobs["OUTPUT0"]).toEqual(blob);
  });

  test("the content type of a request does not matter; a byte order mark and blanks are allowed", async () => {
    const text = JSON.stringify(sumRequest());
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
    for (const type of types) {
      const response = await server.infer("add_sub", text, undefined, { "content-type": type });
      expect((await readInferResponse(response)).head.outputs[0]?.data).toEqual([...SUM]);
    }
    for (const body of [`\ufeff${text}`, ` \r\n${text}\n\n`]) {
      expect((await server.infer("add_sub", body)).status).toBe(200);
    }
  });

  test("an answer beyond the shared buffer is whole", async () => {
    const values = new Float32Array(1_000_000).map((_, i) => i % 1000);
    const blob = new Uint8Array(values.buffer);
    const request = {
      inputs: [blobInput("INPUT0", "FP32", [values.length], blob.byteLength)],
      parameters: { binary_data_output: true },
    };
    for (let i = 0; i < 2; i++) {
      const response = await server.infer("id_fp32", request, [blob]);
      const { blobs } = await readInferResponse(response);
      expect(Buffer.compare(blobs["OUTPUT0"] ?? new Uint8Array(0), blob)).toBe(0);
    }
    const json = await server.infer("id_fp32", { inputs: request.inputs }, [blob]);
    expect((await readInferResponse(json)).head.outputs[0]?.data).toEqual([...values]);
  });
});

describe("requested outputs", () => {
  const names = async (outputs: unknown) => {
    const response = await server.infer("add_sub", sumRequest({ outputs }));
    return (await readInferResponse(response)).head.outputs.map((output) => output.name);
  };

  test("none means all; those asked for come once each", async () => {
    expect(await names([])).toEqual(["OUTPUT0", "OUTPUT1"]);
    expect(await names([{ name: "OUTPUT1" }])).toEqual(["OUTPUT1"]);
    expect(await names([{ name: "OUTPUT0" }, { name: "OUTPUT0" }])).toEqual(["OUTPUT0"]);
    expect(await names([{ name: "OUTPUT0", parameters: { foo: 1 }, bar: [2] }])).toEqual([
      "OUTPUT0",
    ]);
  });

  test("binary and JSON can be mixed", async () => {
    const outputs = [{ name: "OUTPUT0", parameters: { binary_data: true } }, { name: "OUTPUT1" }];
    for (let i = 0; i < 2; i++) {
      const response = await server.infer("add_sub", sumRequest({ outputs }));
      const { head, blobs } = await readInferResponse(response);
      expect(blobs["OUTPUT0"]).toEqual(bytesOf(SUM));
      expect(head.outputs[1]?.data).toEqual([...DIFFERENCE]);
    }
  });

  test("binary_data_output does not touch listed outputs", async () => {
    const response = await server.infer(
      "add_sub",
      sumRequest({ parameters: { binary_data_output: true }, outputs: [{ name: "OUTPUT0" }] }),
    );
    expect((await readInferResponse(response)).head.outputs[0]?.data).toEqual([...SUM]);
  });

  test("a classification is passed on to the core", async () => {
    const outputs = [{ name: "OUTPUT0", parameters: { classification: 3 } }];
    await server.infer("add_sub", sumRequest({ outputs }));
    expect(lastSeen(server.planes.model("add_sub", "")).signature.outputs).toEqual([
      { name: "OUTPUT0", classificationCount: 3 },
    ]);
  });

  test.each([-1, "2", 1.5, null])("a classification of %j is refused", async (classification) => {
    const outputs = [{ name: "OUTPUT0", parameters: { classification } }];
    const seen = await readError(await server.infer("add_sub", sumRequest({ outputs })));
    expect(seen.status).toBe(400);
    expect(seen.error).toContain("classification");
  });

  test.each(["potato", "output0", ""])(
    "the unknown output '%s' is refused by name",
    async (name) => {
      const seen = await readError(
        await server.infer("add_sub", sumRequest({ outputs: [{ name }] })),
      );
      expect(seen.status).toBe(400);
      expect(seen.error).toContain(`unexpected inference output '${name}' for model 'add_sub'`);
    },
  );

  test.each([
    [[{}]],
    [[{ name: 1 }]],
    [["OUTPUT0"]],
    [{ name: "OUTPUT0" }],
    [null],
    ["x"],
    [[null]],
  ])("ill-typed outputs %j are refused", async (outputs) => {
    const seen = await readError(await server.infer("add_sub", sumRequest({ outputs })));
    expect(seen.status).toBe(400);
  });

  test("shared memory: an unknown region is 404, and goes with nothing else", async () => {
    const output = (parameters: object) =>
      server.infer("add_sub", sumRequest({ outputs: [{ name: "OUTPUT0", parameters }] }));
    const region = { shared_memory_region: "zz", shared_memory_byte_size: 64 };
    expect(await readError(await output(region))).toEqual({
      status: 404,
      error: "Unable to find shared memory region: 'zz'",
    });
    expect((await readError(await output({ ...region, binary_data: true }))).status).toBe(400);
    expect((await readError(await output({ ...region, classification: 2 }))).status).toBe(400);
    const input = {
      ...jsonInput("INPUT0", "INT32", [1, 16], []),
      data: undefined,
      parameters: region,
    };
    expect((await readError(await server.infer("add_sub", { inputs: [input] }))).status).toBe(404);
  });
});

describe("id and parameters", () => {
  test.each([7, null, {}, [["a"]], true])("the id %j is refused", async (id) => {
    expect((await readError(await server.infer("add_sub", sumRequest({ id })))).error).toContain(
      "Unable to parse 'id'",
    );
  });

  test("an error of the core names the request's id", async () => {
    const request = { id: "req-17", inputs: sumRequest().inputs.slice(1) };
    expect((await readError(await server.infer("add_sub", request))).error).toContain("req-17");
  });

  test("custom parameters of every kind reach the core", async () => {
    const body = JSON.stringify(sumRequest({ id: "x" })).replace(
      '"inputs"',
      '"parameters":{"s":"é","i":5,"n":-9007199254740993,"b":true,"f":1.5,"big":18446744073709551615},"inputs"',
    );
    await readInferResponse(await server.infer("add_sub", body));
    const { parameters } = lastSeen(server.planes.model("add_sub", "")).signature;
    expect([...parameters]).toEqual([
      ["s", { kind: "string", value: "é" }],
      ["i", { kind: "int64", value: 5n }],
      ["n", { kind: "int64", value: -9007199254740993n }],
      ["b", { kind: "bool", value: true }],
      ["f", { kind: "double", value: 1.5 }],
      ["big", { kind: "double", value: 18446744073709552000 }],
    ]);
  });

  test("scheduling parameters are taken and not handed on", async () => {
    const parameters = {
      priority: 2,
      timeout: 5000,
      sequence_id: 9,
      sequence_start: true,
      sequence_end: false,
      mine: 1,
    };
    await server.infer("add_sub", sumRequest({ parameters }));
    const { signature } = lastSeen(server.planes.model("add_sub", ""));
    expect(signature).toMatchObject({
      priority: 2,
      timeoutMicroseconds: 5000,
      sequenceId: 9n,
      sequenceStart: true,
      sequenceEnd: false,
    });
    expect([...signature.parameters.keys()]).toEqual(["mine"]);
    await server.infer("add_sub", sumRequest({ parameters: { sequence_id: "abc" } }));
    expect(lastSeen(server.planes.model("add_sub", "")).signature.sequenceId).toBe("abc");
  });

  test.each([
    [{ priority: "a" }, "priority"],
    [{ priority: -1 }, "priority"],
    [{ timeout: "x" }, "timeout"],
    [{ sequence_start: 1 }, "sequence_start"],
    [{ sequence_id: 1.5 }, "sequence_id"],
    [{ binary_data_output: 1 }, "binary_data_output"],
    [{ odd: {} }, "odd"],
    [{ odd: [1] }, "odd"],
    [{ odd: null }, "odd"],
    [{ triton_x: 1 }, "triton_"],
    [{ triton_enable_empty_final_response: true }, "triton_"],
    [5, "parameters"],
    [[], "parameters"],
    [null, "parameters"],
  ] as const)("parameters %j are refused by name", async (parameters, fragment) => {
    const seen = await readError(await server.infer("add_sub", sumRequest({ parameters })));
    expect(seen.status).toBe(400);
    expect(seen.error).toContain(fragment);
  });
});

describe("models", () => {
  test("an unknown model or version is 404, even with a malformed body", async () => {
    expect((await readError(await server.infer("nope", "{"))).status).toBe(404);
    const version = await server.post("/v2/models/add_sub/versions/7/infer", sumRequest());
    expect((await readError(version)).error).toContain("version 7");
  });

  test("a version can be chosen", async () => {
    const request = { inputs: [jsonInput("INPUT0", "FP32", [1, 1], [1])] };
    const response = await server.post("/v2/models/versions/versions/3/infer", request);
    expect((await readInferResponse(response)).head.model_version).toBe("3");
  });

  test("a decoupled model is refused, whatever the body", async () => {
    expect(await readError(await server.infer("repeat", "{"))).toEqual({
      status: 501,
      error: "HTTP end point doesn't support models with decoupled transaction policy",
    });
  });

  test("a failing model answers its own error", async () => {
    const request = { inputs: [jsonInput("INPUT0", "INT32", [1], [1])] };
    expect(await readError(await server.infer("failing", request))).toEqual({
      status: 500,
      error: "asked to fail",
    });
  });

  test("a server that goes down refuses with 503", async () => {
    server.planes.isLive = false;
    expect((await readError(await server.infer("add_sub", sumRequest()))).status).toBe(503);
    server.planes.isLive = true;
  });
});
