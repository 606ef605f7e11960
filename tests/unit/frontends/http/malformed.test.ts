import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import {
  HttpTestServer,
  LENGTH_HEADER,
  readError,
  readInferResponse,
} from "../../../support/http-test-server.ts";
import { packBytes } from "../../../support/sample-models.ts";
import { A, B, blobInput, bytesOf, jsonInput, sumRequest } from "./sum-request.ts";

let server: HttpTestServer;
beforeAll(async () => {
  server = await HttpTestServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

// After every bad request a good one must work, and nothing was unexpected.
afterEach(async () => {
  const response = await server.infer("add_sub", sumRequest());
  expect((await readInferResponse(response)).head.outputs[0]?.data?.[0]).toBe(3);
  expect(server.logger.messages("error")).toEqual([]);
});

const GOOD = JSON.stringify(sumRequest());
const [GOOD0, GOOD1] = sumRequest().inputs;

async function refused(response: Response, ...fragments: string[]): Promise<void> {
  const seen = await readError(response);
  expect(seen.status).toBe(400);
  for (const fragment of fragments) expect(seen.error).toContain(fragment);
}

describe("broken JSON", () => {
  test.each([
    "  ",
    "{",
    "[]",
    "null",
    "5",
    '"x"',
    "{}",
    GOOD.slice(0, -1),
    `${GOOD}x`,
    `${GOOD}{}`,
    GOOD.replaceAll('"', "'"),
    `//c\n${GOOD}`,
    `${GOOD.slice(0, -1)},}`,
    `\0${GOOD}`,
    '{"inputs":{}}',
    '{"inputs":null}',
    '{"inputs":"x"}',
    '{"inputs":[]}',
    '{"inputs":[{}]}',
    '{"inputs":[[]]}',
    '{"inputs":[null]}',
    GOOD.replace("[0,", "[-,"),
    GOOD.replace("[0,", "[+1,"),
    GOOD.replace("[0,", "[01,"),
    `{"id":"\\ud800",${GOOD.slice(1)}`,
    `{"id":"a\nb",${GOOD.slice(1)}`,
    `{"id":"\\x",${GOOD.slice(1)}`,
    `{"x":1e400,${GOOD.slice(1)}`,
    "words",
    "<html></html>",
    "",
  ])("is refused: %.30j", async (body) => {
    await refused(await server.infer("add_sub", body));
  });

  test("is refused where it is not UTF-8", async () => {
    const body = Buffer.concat([
      Buffer.from('{"id":"'),
      Buffer.from([0xc4, 0xe3]),
      Buffer.from(`",${GOOD.slice(1)}`),
    ]);
    await refused(await server.infer("add_sub", new Uint8Array(body)), "UTF-8");
  });

  test.each([101, 1000, 100_000, 1_000_000])("nested %d deep is refused", async (depth) => {
    const data = "[".repeat(depth) + 1 + "]".repeat(depth);
    const body = `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":${data}}]}`;
    await refused(await server.infer("id_fp32", body), "nesting depth");
  });

  test("a million brackets are refused at once", async () => {
    for (const body of ["[".repeat(1e6), "[".repeat(1e6) + "]".repeat(1e6), '{"a":'.repeat(3e5)]) {
      await refused(await server.infer("add_sub", body));
    }
  });

  test("a moderately nested unknown member is ignored", async () => {
    const body = `{"x":${"[".repeat(50)}${"]".repeat(50)},${GOOD.slice(1)}`;
    expect((await server.infer("add_sub", body)).status).toBe(200);
  });
});

describe("the header that tells where the JSON ends", () => {
  const head = JSON.stringify({ inputs: [GOOD0, blobInput("INPUT1", "INT32", [1, 16], 64)] });
  const send = (length: string | null) =>
    server.post(
      "/v2/models/add_sub/infer",
      new Uint8Array(Buffer.concat([Buffer.from(head), bytesOf(B)])),
      length === null ? {} : { [LENGTH_HEADER]: length },
    );

  test("is taken when right", async () => {
    expect((await send(String(head.length))).status).toBe(200);
  });

  test.each([
    null,
    String(head.length - 1),
    String(head.length + 1),
    String(head.length + 64),
    String(head.length + 65),
    "1",
    "0",
    "-1",
    "abc",
    "99999999999999999999",
    "0x10",
    "1e2",
    "",
  ])("is refused as %j", async (length) => {
    await refused(await send(length));
  });

  test.each(["-1", "100000", "99999999999999999999", "abc"])(
    "out of range (%s) it is told",
    async (length) => {
      await refused(await send(length), "inference header size should be in range", length);
    },
  );
});

describe("binary sizes", () => {
  const send = (byteLength: unknown) =>
    server.infer(
      "add_sub",
      {
        inputs: [
          GOOD0,
          { ...GOOD1, data: undefined, parameters: { binary_data_size: byteLength } },
        ],
      },
      [bytesOf(B)],
    );

  test("must add up to the tail", async () => {
    await refused(await send(60), "unexpected additional input data for model 'add_sub'");
    await refused(
      await send(68),
      "unexpected size for input 'INPUT1', expecting 4 additional bytes for model 'add_sub'",
    );
    await refused(await send(2 ** 53 - 1), "add_sub");
    const huge = `{"inputs":[${JSON.stringify(GOOD0)},{"name":"INPUT1","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":9223372036854775808}}]}`;
    await refused(await server.infer("add_sub", huge, [bytesOf(B)]), "add_sub");
  });

  test.each([-1, "64", 1.5, null])("%j is no size", async (byteLength) => {
    await refused(await send(byteLength), "binary_data_size");
  });

  test("beyond 64 bits is no size", async () => {
    const text = GOOD.replace(
      /"data":\[3.*?\]/,
      '"parameters":{"binary_data_size":18446744073709551616}',
    );
    await refused(await server.infer("add_sub", text), "binary_data_size");
  });
});

describe("inputs", () => {
  test.each(["name", "shape", "datatype", "data"])(
    "without '%s' are refused by its name",
    async (member) => {
      await refused(
        await server.infer("add_sub", { inputs: [GOOD0, { ...GOOD1, [member]: undefined }] }),
        member,
      );
    },
  );

  test.each([
    ["name", 1],
    ["datatype", 1],
    ["data", "abc"],
    ["data", 1],
    ["data", null],
    ["data", {}],
    ["parameters", 5],
    ["shape", "-1"],
    ["shape", null],
    ["shape", {}],
    ["shape", 16],
    ["shape", [[1, 16]]],
    ["shape", [-1, 16]],
    ["shape", [1.5, 16]],
    ["shape", ["1", 16]],
    ["shape", [null, 16]],
  ] as const)("with the %s %j are refused by that name", async (member, value) => {
    await refused(
      await server.infer("add_sub", { inputs: [GOOD0, { ...GOOD1, [member]: value }] }),
      member,
    );
  });

  test.each([
    "[18446744073709551616,16]",
    "[4611686018427387904,4]",
    "[9223372036854775808,16]",
    "[1,4611686018427387904]",
    "[4294967296,4294967296]",
    "[2147483648,2147483648,16]",
    "[1000000000,16]",
  ])("of shape %s are refused", async (shape) => {
    await refused(await server.infer("add_sub", GOOD.replace(/\[1,16\]/g, shape)));
  });

  test("of an unknown datatype are refused, telling the right one", async () => {
    for (const datatype of ["STRING", "int32"]) {
      await refused(
        await server.infer("add_sub", { inputs: [GOOD0, { ...GOOD1, datatype }] }),
        `inference input 'INPUT1' data-type is '${datatype}', but model 'add_sub' expects 'INT32'`,
      );
    }
    await refused(
      await server.infer("add_sub", { inputs: [{ ...GOOD0, name: "x", datatype: "STRING" }] }),
      "unexpected inference input 'x'",
    );
  });

  test("with data and a binary size are refused by both names", async () => {
    const both = { ...GOOD1, parameters: { binary_data_size: 64 } };
    await refused(
      await server.infer("add_sub", { inputs: [GOOD0, both] }, [bytesOf(B)]),
      "'data'",
      "'binary_data_size'",
    );
  });

  test("with too few or too many values are refused with the counts", async () => {
    for (const count of [15, 17]) {
      const input = jsonInput("INPUT1", "INT32", [1, 16], new Array(count).fill(1));
      await refused(
        await server.infer("add_sub", { inputs: [GOOD0, input] }),
        "data",
        "shape",
        "INPUT1",
        "16",
      );
    }
    const text = jsonInput("INPUT0", "BYTES", [2], ["a"]);
    await refused(await server.infer("id_bytes", { inputs: [text] }), "INPUT0", "2");
  });

  test("the core's own checks reach the client", async () => {
    await refused(await server.infer("add_sub", { inputs: [] }), "INPUT0", "INPUT1");
    const short = { inputs: [GOOD0, blobInput("INPUT1", "INT32", [1, 16], 60)] };
    await refused(
      await server.infer("add_sub", short, [new Uint8Array(60)]),
      "Expected 64, got 60",
    );
  });
});

describe("raw binary requests", () => {
  const raw = (model: string, body: Uint8Array) =>
    server.post(`/v2/models/${model}/infer`, body, { [LENGTH_HEADER]: "0" });

  test("are the only input, and answered in binary", async () => {
    const bytes = bytesOf(new Float32Array([1, 2]));
    const { head, blobs } = await readInferResponse(await raw("id_fp32", bytes));
    expect(head.outputs[0]?.shape).toEqual([2]);
    expect(blobs["OUTPUT0"]).toEqual(bytes);
  });

  test("get a batch of one", async () => {
    const { head } = await readInferResponse(await raw("batched", bytesOf(new Float32Array(3))));
    expect(head.outputs[0]?.shape).toEqual([1, 3]);
  });

  test("are one string for BYTES", async () => {
    const body = new TextEncoder().encode("plain text");
    const { blobs } = await readInferResponse(await raw("id_bytes", body));
    expect(blobs["OUTPUT0"]).toEqual(packBytes(["plain text"]));
  });

  test.each([
    ["add_sub", 64, "2 inputs"],
    ["matrix", 16, "at most one of them may be free"],
    ["id_fp32", 7, "7 bytes"],
  ] as const)("to %s of %d bytes are refused", async (model, byteLength, fragment) => {
    await refused(await raw(model, new Uint8Array(byteLength)), fragment);
  });
});

describe("limits", () => {
  test("JSON, JSON tensors and raw tensors are bounded, binary tails are not", async () => {
    await using own = await HttpTestServer.start({ maxInputBytes: 1000 });
    const text =
      "exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.";
    const long = JSON.stringify({ ...sumRequest(), x: "y".repeat(1000) });
    await refused(await own.infer("add_sub", long), "Request JSON size", text);
    const numbers = { inputs: [jsonInput("INPUT0", "FP64", [200], new Array(200).fill(1))] };
    await refused(await own.infer("id_fp64", numbers), "INPUT0", text);
    await refused(
      await own.post("/v2/models/id_fp32/infer", new Uint8Array(1004), { [LENGTH_HEADER]: "0" }),
      text,
    );
    await refused(await own.post("/v2/repository/index", `{"x":"${"y".repeat(1000)}"}`), text);
    await refused(
      await own.post("/v2/models/id_fp32/generate", `{"x":"${"y".repeat(1000)}"}`),
      text,
    );
    const tail = {
      inputs: [blobInput("INPUT0", "FP32", [10_000], 40_000)],
      parameters: { binary_data_output: true },
    };
    expect((await own.infer("id_fp32", tail, [new Uint8Array(40_000)])).status).toBe(200);
  });

  test("a body above the limit is 413, with a JSON text", async () => {
    await using own = await HttpTestServer.start({ maxRequestBodyBytes: 1000 });
    const seen = await readError(await own.infer("add_sub", "x".repeat(1001)));
    expect(seen).toEqual({
      status: 413,
      error: "request body of 1001 bytes is above the limit of 1000 bytes",
    });
    const chunked = await fetch(`${own.url}/v2/models/add_sub/infer`, {
      method: "POST",
      body: new ReadableStream({
        start(controller) {
          for (let i = 0; i < 20; i++) controller.enqueue(new Uint8Array(100));
          controller.close();
        },
      }),
    });
    expect((await readError(chunked)).status).toBe(413);
    expect((await own.infer("add_sub", sumRequest())).status).toBe(200);
  });

  test("bodies in flight are bounded all together, and given back", async () => {
    await using own = await HttpTestServer.start({ maxInflightBytes: 1000 });
    const seen = await readError(await own.infer("add_sub", "x".repeat(1001)));
    expect(seen.status).toBe(503);
    expect(seen.error).toContain("in flight");
    for (let i = 0; i < 20; i++) {
      expect((await own.infer("add_sub", sumRequest())).status).toBe(200);
      expect((await own.infer("add_sub", "{")).status).toBe(400);
    }
  });

  test("the sum of big numbers stays right", async () => {
    const left = A.map((value) => value * 100_000_000);
    const request = { inputs: [jsonInput("INPUT0", "INT32", [1, 16], [...left]), GOOD1] };
    const { head } = await readInferResponse(await server.infer("add_sub", request));
    expect(head.outputs[0]?.data?.[15]).toBe(1_500_000_003);
  });
});
