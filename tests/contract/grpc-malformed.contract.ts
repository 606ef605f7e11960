import { describe, expect, test } from "bun:test";
import { deflateSync, gzipSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { ModelInferResponseSchema } from "#gen/inference/grpc_service_pb.ts";
import type { GrpcFrontendOptions } from "../../src/frontends/grpc/grpc-frontend.ts";
import { GrpcTestServer } from "../support/grpc-test-server.ts";
import { bytesRequest, echoRequest, int32sOf, messageBytes } from "../support/infer-requests.ts";
import {
  frame,
  MODEL_INFER,
  MODEL_STREAM_INFER,
  type RawAnswer,
  type RawCall,
  RawGrpcConnection,
} from "../support/raw-grpc-call.ts";
import { HeldModel } from "../support/sample-models.ts";

const GOOD = frame(messageBytes(echoRequest([1, 2, 3], { id: "x" })));

function expectEcho({ headers, body }: RawAnswer): void {
  expect(headers["grpc-status"]).toBe("0");
  expect(body.readUInt32BE(1)).toBe(body.length - 5);
  const answer = fromBinary(ModelInferResponseSchema, body.subarray(5));
  expect(int32sOf(answer.rawOutputContents[0])).toEqual([1, 2, 3]);
}

/** What a frontend owes to a client that sends what it should not: a status, and its next answer. */
export function describeGrpcMalformed(
  carrier: string,
  carrierOptions: Partial<GrpcFrontendOptions>,
): void {
  const start = (options: Partial<GrpcFrontendOptions> = {}) =>
    GrpcTestServer.start({ ...carrierOptions, ...options });

  /** Sends one call, then checks that the same connection still serves. */
  async function afterwardsServing(server: GrpcTestServer, call: RawCall): Promise<RawAnswer> {
    using connection = new RawGrpcConnection(server.target);
    const answer = await connection.call(call);
    expectEcho(await connection.call({ path: MODEL_INFER, chunks: [GOOD] }));
    return answer;
  }

  describe(`malformed calls by ${carrier}`, () => {
    test("a message may come in chunks cut anywhere", async () => {
      await using server = await start();
      using connection = new RawGrpcConnection(server.target);
      for (const cut of [1, 2, 4, 5, 6, 20, GOOD.length - 1]) {
        const chunks = [GOOD.subarray(0, cut), GOOD.subarray(cut)];
        expectEcho(await connection.call({ path: MODEL_INFER, chunks }));
      }
      const bytes = [...GOOD].map((byte) => Uint8Array.of(byte));
      expectEcho(await connection.call({ path: MODEL_INFER, chunks: bytes }));
    });

    test.each([
      ["no message", [], status.UNIMPLEMENTED],
      ["two messages", [Buffer.concat([GOOD, GOOD])], status.UNIMPLEMENTED],
      ["half a prefix", [GOOD.subarray(0, 3)], status.INVALID_ARGUMENT],
      ["half a message", [GOOD.subarray(0, 20)], status.INVALID_ARGUMENT],
      ["no protobuf", [frame(Buffer.from("hello"))], status.INTERNAL],
      ["a field cut off", [frame(Uint8Array.of(0x0a, 0x20, 0x61))], status.INTERNAL],
      ["a compressed message without a name for it", [frame(GOOD, 1)], status.INTERNAL],
      ["an empty message", [frame(new Uint8Array(0))], status.NOT_FOUND],
    ] as const)("%s gets a status", async (_, chunks, code) => {
      await using server = await start();
      const { headers } = await afterwardsServing(server, { path: MODEL_INFER, chunks });
      expect(headers["grpc-status"]).toBe(String(code));
    });

    test("an odd frame flag gets no answer but a status", async () => {
      await using server = await start();
      const call = { path: MODEL_INFER, chunks: [frame(GOOD.subarray(5), 7)] };
      const { headers } = await afterwardsServing(server, call);
      expect(headers["grpc-status"]).not.toBe("0");
    });

    test("a message above the limit gets RESOURCE_EXHAUSTED before it is sent whole", async () => {
      await using server = await start({ maxReceiveBytes: 1000 });
      const long = frame(messageBytes(bytesRequest(new Uint8Array(5000)))).subarray(0, 100);
      const { headers } = await afterwardsServing(server, { path: MODEL_INFER, chunks: [long] });
      expect(headers["grpc-status"]).toBe(String(status.RESOURCE_EXHAUSTED));
    });

    test("a length of four billion costs nothing", async () => {
      await using server = await start();
      const prefix = Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3);
      const { headers } = await afterwardsServing(server, { path: MODEL_INFER, chunks: [prefix] });
      expect(headers["grpc-status"]).not.toBe("0");
    });

    test.each(["abc", "1", "-1S", "123456789S", "1X"])(
      "a timeout of %s is refused",
      async (text) => {
        await using server = await start();
        const headers = { "grpc-timeout": text };
        const answer = await afterwardsServing(server, {
          path: MODEL_INFER,
          headers,
          chunks: [GOOD],
        });
        expect(answer.headers["grpc-status"]).toBe(String(status.INVALID_ARGUMENT));
      },
    );

    test("a deadline is kept by the server too", async () => {
      await using server = await start();
      server.planes.add(new HeldModel("held"));
      const message = frame(messageBytes(echoRequest([1], { modelName: "held" })));
      const headers = { "grpc-timeout": "50m" };
      const call = { path: MODEL_INFER, headers, chunks: [message] };
      const answer = await afterwardsServing(server, call);
      expect(answer.headers["grpc-status"]).toBe(String(status.DEADLINE_EXCEEDED));
    });

    test.each([
      ["gzip", gzipSync(GOOD.subarray(5))],
      ["deflate", deflateSync(GOOD.subarray(5))],
    ] as const)("a %s message is understood, a damaged one refused", async (encoding, message) => {
      await using server = await start();
      using connection = new RawGrpcConnection(server.target);
      const headers = { "grpc-encoding": encoding };
      const call = (chunk: Buffer) =>
        connection.call({ path: MODEL_INFER, headers, chunks: [chunk] });
      expectEcho(await call(frame(message, 1)));
      expectEcho(await call(GOOD));
      const damaged = await call(frame(message.subarray(0, message.length - 6), 1));
      expect(damaged.headers["grpc-status"]).toBe(String(status.INVALID_ARGUMENT));
    });

    test("a small message that would grow above the limit is refused", async () => {
      await using server = await start({ maxReceiveBytes: 100_000 });
      const bomb = frame(gzipSync(messageBytes(bytesRequest(new Uint8Array(10_000_000)))), 1);
      const headers = { "grpc-encoding": "gzip" };
      const answer = await afterwardsServing(server, {
        path: MODEL_INFER,
        headers,
        chunks: [bomb],
      });
      expect(answer.headers["grpc-status"]).toBe(String(status.RESOURCE_EXHAUSTED));
    });

    test("an encoding that nobody knows is UNIMPLEMENTED and told which are known", async () => {
      await using server = await start();
      const headers = { "grpc-encoding": "br" };
      const answer = await afterwardsServing(server, {
        path: MODEL_INFER,
        headers,
        chunks: [GOOD],
      });
      expect(answer.headers["grpc-status"]).toBe(String(status.UNIMPLEMENTED));
      expect(answer.headers["grpc-accept-encoding"]).toContain("gzip");
    });

    test.each(["a%zz", "[::1", "host:99999", "tmp%2Fx.sock", "a b", ""])(
      "the authority '%s' harms nobody",
      async (authority) => {
        await using server = await start();
        using connection = new RawGrpcConnection(server.target);
        for (const path of [MODEL_INFER, "/inference.GRPCInferenceService/ServerLive"]) {
          await connection.call({
            path,
            headers: { ":authority": authority },
            chunks: [path === MODEL_INFER ? GOOD : frame(new Uint8Array(0))],
          });
        }
        expectEcho(await connection.call({ path: MODEL_INFER, chunks: [GOOD] }));
      },
    );

    test.each(["/inference.GRPCInferenceService/Nope", "/other.Service/Call", "/", "/%zz"])(
      "the unknown method %s is UNIMPLEMENTED",
      async (path) => {
        await using server = await start();
        const { headers } = await afterwardsServing(server, { path, chunks: [GOOD] });
        expect(headers["grpc-status"]).toBe(String(status.UNIMPLEMENTED));
      },
    );

    test("another HTTP method or content type is answered as HTTP does", async () => {
      await using server = await start();
      const get = await afterwardsServing(server, {
        path: MODEL_INFER,
        headers: { ":method": "GET" },
      });
      expect(get.headers[":status"]).toBe("405");
      const text = { "content-type": "text/plain" };
      const plain = await afterwardsServing(server, {
        path: MODEL_INFER,
        headers: text,
        chunks: [GOOD],
      });
      expect(plain.headers[":status"]).toBe("415");
      const elsewhere = await afterwardsServing(server, { path: "/x", headers: text });
      expect(elsewhere.headers[":status"]).toBe("404");
    });

    test("a stream of broken messages ends with a status", async () => {
      await using server = await start();
      const stream = frame(messageBytes(echoRequest([1])));
      const broken = frame(Buffer.from("hello"));
      const call = { path: MODEL_STREAM_INFER, chunks: [stream, broken], staysOpen: true };
      const { headers } = await afterwardsServing(server, call);
      expect(headers["grpc-status"]).toBe(String(status.INTERNAL));
    });

    test("two thousand cancelled calls do not cost the connection", async () => {
      await using server = await start();
      using connection = new RawGrpcConnection(server.target);
      for (let i = 0; i < 2000; i++) {
        const stream = connection.session.request({
          ":method": "POST",
          ":path": MODEL_INFER,
          "content-type": "application/grpc",
        });
        stream.on("error", () => undefined);
        stream.close(8);
        if (i % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      expectEcho(await connection.call({ path: MODEL_INFER, chunks: [GOOD] }));
    });
  });
}
