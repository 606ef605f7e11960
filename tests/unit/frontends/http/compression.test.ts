import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { encodingFromAccept } from "../../../../src/frontends/http/compression.ts";
import { HttpTestServer, LENGTH_HEADER, readError } from "../../../support/http-test-server.ts";
import { A, B, blobInput, sumBlobs, sumRequest } from "./sum-request.ts";

let server: HttpTestServer;
beforeAll(async () => {
  server = await HttpTestServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const GOOD = JSON.stringify(sumRequest());
const COMPRESS = { gzip: gzipSync, deflate: deflateSync } as const;
const DECOMPRESS = { gzip: gunzipSync, deflate: inflateSync } as const;
const SUM = [...A].map((value, i) => value + (B[i] ?? 0));

function packed(encoding: "gzip" | "deflate", body: Uint8Array | string): Uint8Array {
  return new Uint8Array(COMPRESS[encoding](body));
}

test.each([
  [null, "identity"],
  ["", "identity"],
  ["gzip", "gzip"],
  ["deflate", "deflate"],
  ["identity", "identity"],
  ["br", "identity"],
  ["*", "identity"],
  ["br, gzip", "gzip"],
  ["gzip;q=0", "identity"],
  ["gzip;q=0, deflate", "deflate"],
  ["gzip;q=0.5, deflate;q=0.8", "deflate"],
  ["gzip;q=0.8, deflate;q=0.5", "gzip"],
  ["gzip;q=1.0, identity;q=0.5", "gzip"],
  ["gzip;q=0.1, identity;q=0.5", "identity"],
  ["gzip, deflate", "gzip"],
  ["deflate, gzip", "deflate"],
  ["GZIP ; Q=0.3", "gzip"],
  ["gzip;q=x, deflate;q=2", "identity"],
  [`${"br,".repeat(1000)}gzip`, "identity"],
] as const)("Accept-Encoding %p picks %s", (accept, encoding) => {
  expect(encodingFromAccept(accept)).toBe(encoding);
});

describe.each(["gzip", "deflate"] as const)("%s", (encoding) => {
  test("responses have the right length and content", async () => {
    const response = await server.infer("add_sub", GOOD, undefined, {
      "accept-encoding": encoding,
    });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    const wire = new Uint8Array(await response.arrayBuffer());
    expect(response.headers.get("content-length")).toBe(String(wire.byteLength));
    expect(JSON.parse(DECOMPRESS[encoding](wire).toString()).outputs[0].data).toEqual(SUM);
  });

  test("requests are understood, JSON and binary", async () => {
    const json = await server.infer("add_sub", packed(encoding, GOOD), undefined, {
      "content-encoding": encoding,
    });
    expect(((await json.json()) as { outputs: { data: number[] }[] }).outputs[0]?.data).toEqual(
      SUM,
    );

    const { request, blobs } = sumBlobs({ parameters: { binary_data_output: true } });
    const head = JSON.stringify(request);
    const body = packed(encoding, new Uint8Array(Buffer.concat([Buffer.from(head), ...blobs])));
    const response = await server.post("/v2/models/add_sub/infer", body, {
      "content-encoding": encoding,
      "accept-encoding": encoding,
      [LENGTH_HEADER]: String(head.length),
    });
    expect(response.status).toBe(200);
    const plain = DECOMPRESS[encoding](await response.arrayBuffer());
    const headBytes = Number(response.headers.get(LENGTH_HEADER));
    expect(JSON.parse(plain.subarray(0, headBytes).toString()).outputs[0].parameters).toEqual({
      binary_data_size: 64,
    });
    expect(plain.byteLength).toBe(headBytes + 128);
  });

  test.each([
    ["garbage", Buffer.from("not compressed at all")],
    ["cut short", packed(encoding, GOOD).subarray(0, 60)],
    ["empty", Buffer.alloc(0)],
  ])("a %s request is refused", async (_damage, body) => {
    const response = await server.infer("add_sub", new Uint8Array(body), undefined, {
      "content-encoding": encoding,
    });
    expect((await readError(response)).status).toBe(400);
  });

  test("a body that grows beyond the limit is refused", async () => {
    await using own = await HttpTestServer.start({ maxInputBytes: 100_000 });
    const bomb = packed(encoding, new Uint8Array(50_000_000));
    expect(bomb.byteLength).toBeLessThan(100_000);
    const seen = await readError(
      await own.infer("add_sub", bomb, undefined, { "content-encoding": encoding }),
    );
    expect(seen.status).toBe(400);
    expect(seen.error).toContain("exceeds the maximum allowed value of 100000 bytes");
  });

  test("big bodies travel compressed both ways", async () => {
    const values = new Float32Array(1_250_000).map((_, i) => i % 1000);
    const blob = new Uint8Array(values.buffer);
    const head = JSON.stringify({
      inputs: [blobInput("INPUT0", "FP32", [values.length], blob.byteLength)],
      parameters: { binary_data_output: true },
    });
    const body = packed(encoding, new Uint8Array(Buffer.concat([Buffer.from(head), blob])));
    const response = await server.post("/v2/models/id_fp32/infer", body, {
      "content-encoding": encoding,
      "accept-encoding": encoding,
      [LENGTH_HEADER]: String(head.length),
    });
    const wire = await response.arrayBuffer();
    expect(wire.byteLength).toBeLessThan(blob.byteLength / 2);
    const plain = DECOMPRESS[encoding](wire);
    const headBytes = Number(response.headers.get(LENGTH_HEADER));
    expect(Buffer.compare(plain.subarray(headBytes), blob)).toBe(0);
  });

  test("an error stays readable", async () => {
    const response = await server.infer("add_sub", "{", undefined, { "accept-encoding": encoding });
    expect(response.headers.get("content-encoding")).toBeNull();
    expect((await readError(response)).status).toBe(400);
  });
});

test("identity and an empty encoding are plain", async () => {
  for (const encoding of ["identity", ""]) {
    const headers = { "content-encoding": encoding };
    expect((await server.infer("add_sub", GOOD, undefined, headers)).status).toBe(200);
  }
});

test.each(["br", "zstd", "gzip, gzip"])(
  "%s is refused and told what is accepted",
  async (encoding) => {
    const response = await server.infer("add_sub", GOOD, undefined, {
      "content-encoding": encoding,
    });
    expect(response.headers.get("accept-encoding")).toBe("gzip, deflate");
    expect(await readError(response)).toEqual({
      status: 501,
      error: "Unsupported compression type",
    });
  },
);
