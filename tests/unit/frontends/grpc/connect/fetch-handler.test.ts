import { describe, expect, test } from "bun:test";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import {
  GRPCInferenceService,
  ModelStreamInferResponseSchema,
} from "#gen/inference/grpc_service_pb.ts";
import { createConnectFetchHandler } from "../../../../../src/frontends/grpc/connect/fetch-handler.ts";
import type { GrpcServiceOptions } from "../../../../../src/frontends/grpc/grpc-context.ts";
import { InMemoryPlanes } from "../../../../support/in-memory-planes.ts";
import {
  echoRequest,
  int32sOf,
  messageBytes,
  repeatRequest,
  textOf,
} from "../../../../support/infer-requests.ts";
import { frame } from "../../../../support/raw-grpc-call.ts";
import { RecordingLogger } from "../../../../support/recording-logger.ts";

function handlerWith(options: Partial<GrpcServiceOptions> = {}) {
  const planes = new InMemoryPlanes();
  const logger = new RecordingLogger();
  const clock = { nowNs: Bun.nanoseconds, after: () => () => undefined };
  const service = { dataPlane: planes, controlPlane: planes, logger, clock, ...options };
  return { planes, logger, handle: createConnectFetchHandler(service) };
}

function post(
  rpc: string,
  body: string | Uint8Array<ArrayBuffer>,
  contentType = "application/json",
) {
  return new Request(`http://localhost:8000/inference.GRPCInferenceService/${rpc}`, {
    method: "POST",
    headers: { "content-type": contentType },
    body,
  });
}

describe("the fetch handler", () => {
  test("answers Connect with JSON, as curl sends it", async () => {
    const { handle } = handlerWith();
    const response = await handle(post("ServerLive", "{}"));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ live: true });
  });

  test("answers gRPC-web", async () => {
    const { handle } = handlerWith();
    const transport = createGrpcWebTransport({
      baseUrl: "http://localhost:8000",
      fetch: Object.assign(
        (input: Request | string | URL, init?: RequestInit) =>
          handle(input instanceof Request ? input : new Request(String(input), init)),
        { preconnect: () => undefined },
      ),
    });
    const client = createClient(GRPCInferenceService, transport);
    const answer = await client.modelInfer(echoRequest([1, 2]));
    expect(int32sOf(answer.rawOutputContents[0])).toEqual([1, 2]);
    const failure = await client
      .modelInfer(echoRequest([1], { modelName: "nope" }))
      .catch(ConnectError.from);
    expect(failure).toMatchObject({
      code: Code.NotFound,
      rawMessage: "Request for unknown model: 'nope' is not found",
    });
  });

  test("answers a stream whose requests come all at once", async () => {
    const { handle } = handlerWith();
    const body = Buffer.concat(
      [repeatRequest(2), echoRequest([3])].map((request) => frame(messageBytes(request))),
    );
    const response = await handle(
      post("ModelStreamInfer", Uint8Array.from(body), "application/connect+proto"),
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    const answers = [];
    let at = 0;
    while (bytes[at] === 0) {
      const end = at + 5 + bytes.readUInt32BE(at + 1);
      answers.push(fromBinary(ModelStreamInferResponseSchema, bytes.subarray(at + 5, end)));
      at = end;
    }
    expect(answers.map(textOf).slice(0, 2).toSorted()).toContain("t0");
    expect(answers).toHaveLength(3);
    expect(JSON.parse(bytes.toString("utf8", at + 5))).toEqual({});
  });

  test("refuses restricted apis", async () => {
    const key = { key: "triton-grpc-protocol-k", value: "v" };
    const { handle } = handlerWith({ restrictedApis: new Map([["health", key]]) });
    const response = await handle(post("ServerLive", "{}"));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "unavailable" });
  });

  test("answers other paths, methods and formats as HTTP does", async () => {
    const { handle } = handlerWith();
    expect((await handle(post("Nope", "{}"))).status).toBe(404);
    expect((await handle(post("ServerLive", "{}", "text/plain"))).status).toBe(415);
    const get = new Request("http://localhost:8000/inference.GRPCInferenceService/ServerLive");
    expect((await handle(get)).status).toBe(405);
    expect((await handle(post("ServerLive", "{"))).status).toBe(400);
  });

  test("logs what nobody meant to throw, and does not tell it apart for the client", async () => {
    const { planes, logger, handle } = handlerWith();
    planes.readyVersions = () => {
      throw new TypeError("a bug");
    };
    const response = await handle(post("ModelMetadata", '{"name":"add_sub"}'));
    expect(response.status).toBe(500);
    expect(logger.messages("error")).toEqual(["rpc failed unexpectedly"]);
  });
});
