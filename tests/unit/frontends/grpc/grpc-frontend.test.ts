import { describe, expect, test } from "bun:test";
import { connect, constants } from "node:http2";
import { connect as connectSocket } from "node:net";
import { credentials, status } from "@grpc/grpc-js";
import { startGrpcFrontend } from "../../../../src/frontends/grpc/grpc-frontend.ts";
import { eventually } from "../../../support/eventually.ts";
import { GrpcJsClient } from "../../../support/grpc-js-client.ts";
import { GrpcTestServer } from "../../../support/grpc-test-server.ts";
import { InMemoryPlanes } from "../../../support/in-memory-planes.ts";
import {
  bytesRequest,
  echoRequest,
  int32sOf,
  messageBytes,
} from "../../../support/infer-requests.ts";
import { frame, MODEL_INFER, RawGrpcConnection } from "../../../support/raw-grpc-call.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { HeldModel } from "../../../support/sample-models.ts";
import { SelfSignedCertificate } from "../../../support/self-signed-certificate.ts";

const CLOCK = { nowNs: Bun.nanoseconds, after: () => () => undefined };

describe("the gRPC port", () => {
  test("says which it is when it cannot be had", async () => {
    await using server = await GrpcTestServer.start();
    const { port } = server.frontend;
    expect(GrpcTestServer.start({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("refuses a pattern that is no regular expression, and files that are not there", () => {
    const planes = new InMemoryPlanes();
    const options = {
      dataPlane: planes,
      controlPlane: planes,
      logger: new RecordingLogger(),
      clock: CLOCK,
      address: "127.0.0.1",
      port: 0,
    };
    expect(startGrpcFrontend({ ...options, headerForwardPattern: "(" })).rejects.toThrow(
      "--grpc-header-forward-pattern '(' is not a regular expression",
    );
    const tls = { serverCert: "/nowhere.pem", serverKey: "/nowhere.key", isMutual: false };
    expect(startGrpcFrontend({ ...options, tls })).rejects.toThrow(
      "--grpc-server-cert '/nowhere.pem'",
    );
  });

  test("speaks TLS, and asks clients for theirs where it is mutual", async () => {
    using certificate = SelfSignedCertificate.create();
    if (certificate === undefined) {
      process.stderr.write("skipped: openssl not found\n");
      return;
    }
    const { certPath, keyPath, cert, key } = certificate;
    const files = { serverCert: certPath, serverKey: keyPath, rootCert: certPath };
    for (const isMutual of [false, true]) {
      await using server = await GrpcTestServer.start({ tls: { ...files, isMutual } });
      const target = `localhost:${server.frontend.port}`;
      using known = new GrpcJsClient(target, {}, credentials.createSsl(cert, key, cert));
      const answer = await known.infer(echoRequest([1, 2]));
      expect(int32sOf(answer.rawOutputContents[0])).toEqual([1, 2]);
      using unknown = new GrpcJsClient(target, {}, credentials.createSsl(cert));
      const outcome = unknown.call("serverLive", {}, { deadlineMs: 2000 }).then(
        () => true,
        () => false,
      );
      expect(await outcome).toBe(!isMutual);
      using plain = new GrpcJsClient(target);
      expect((await plain.failure("serverLive", {}, { deadlineMs: 2000 })).code).not.toBe(
        status.OK,
      );
    }
  });

  test("lives on after bytes that are no HTTP/2", async () => {
    await using server = await GrpcTestServer.start();
    for (const bytes of [
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
      "\x16\x03\x01hello",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxx",
    ]) {
      await new Promise<void>((resolve) => {
        const socket = connectSocket(server.frontend.port, "127.0.0.1", () => socket.end(bytes));
        socket.on("close", () => resolve());
        socket.on("error", () => resolve());
        socket.resume();
      });
    }
    using client = new GrpcJsClient(server.target);
    expect((await client.call("serverLive", {})).live).toBe(true);
    await eventually(() => server.frontend.connectionCount === 1);
  });

  test("tells clients to go and ends what outlasts the grace", async () => {
    await using server = await GrpcTestServer.start();
    const held = server.planes.add(new HeldModel("held"));
    using client = new GrpcJsClient(server.target);
    const outcome = client.failure("modelInfer", echoRequest([1], { modelName: "held" }));
    await eventually(() => held.held.length === 1);
    await server.frontend.stop(50);
    expect(await outcome).toMatchObject({ code: status.UNAVAILABLE, details: "Server exiting" });
    expect(held.seen[0]?.isCancelled).toBe(true);
    expect(server.frontend.connectionCount).toBe(0);
  });

  test("ends idle streams when it stops, and busy ones when their requests have ended", async () => {
    await using server = await GrpcTestServer.start();
    const held = server.planes.add(new HeldModel("held"));
    using client = new GrpcJsClient(server.target);
    const idle = client.openStream();
    const busy = client.openStream();
    const seen: string[] = [];
    idle.on("data", () => undefined);
    idle.on("error", (error) => seen.push(`idle ${"code" in error ? error.code : ""}`));
    busy.on("data", (answer) => seen.push(`answer ${answer.inferResponse?.id}`));
    busy.on("error", (error) => seen.push(`busy ${"code" in error ? error.code : ""}`));
    busy.write(echoRequest([1], { modelName: "held", id: "b" }));
    idle.write(echoRequest([1]));
    await eventually(() => held.held.length === 1 && server.planes.inflightCount === 1);
    const stopped = server.frontend.stop();
    await eventually(() => seen.includes(`idle ${status.UNAVAILABLE}`));
    held.release();
    await stopped;
    await eventually(() => seen.includes(`busy ${status.UNAVAILABLE}`));
    expect(seen).toContain("answer b");
  });

  test("ends connections that are too old, gracefully", async () => {
    await using server = await GrpcTestServer.start({ limits: { maxConnectionAgeMs: 50 } });
    using connection = new RawGrpcConnection(server.target);
    let goawayCode: number | undefined;
    connection.session.on("goaway", (code) => {
      goawayCode = code;
    });
    await eventually(() => goawayCode === constants.NGHTTP2_NO_ERROR);
    await eventually(() => server.frontend.connectionCount === 0);
  });

  test("ends connections that do not answer its pings", async () => {
    await using server = await GrpcTestServer.start({
      limits: { keepaliveTimeMs: 20, keepaliveTimeoutMs: 50, keepalivePermitWithoutCalls: true },
    });
    // A client that says the least and then nothing.
    const socket = connectSocket(server.frontend.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    await eventually(() => server.frontend.connectionCount === 1);
    await eventually(() => server.frontend.connectionCount === 0);
    socket.destroy();
  });

  test("keeps connections that answer its pings", async () => {
    await using server = await GrpcTestServer.start({
      limits: { keepaliveTimeMs: 10, keepaliveTimeoutMs: 500, keepalivePermitWithoutCalls: true },
    });
    using connection = new RawGrpcConnection(server.target);
    let pingCount = 0;
    connection.session.on("ping", () => pingCount++);
    await eventually(() => pingCount >= 3);
    expect(server.frontend.connectionCount).toBe(1);
  });

  test("ends connections that ping without need, and forgives pings between answers", async () => {
    await using server = await GrpcTestServer.start();
    const ping = (session: ReturnType<typeof connect>) =>
      new Promise<void>((resolve) => session.ping(() => resolve()));
    using busy = new RawGrpcConnection(server.target);
    const chunks = [frame(messageBytes(echoRequest([1])))];
    for (let i = 0; i < 6; i++) {
      await ping(busy.session);
      expect((await busy.call({ path: MODEL_INFER, chunks })).headers["grpc-status"]).toBe("0");
    }
    // Half a message on its way: what is received counts as well, by the windows that are given back.
    const long = frame(messageBytes(bytesRequest(new Uint8Array(20_000_000))));
    const upload = busy.session.request({
      ":method": "POST",
      ":path": MODEL_INFER,
      "content-type": "application/grpc",
    });
    for (let i = 0; i < 6; i++) {
      const part = long.subarray(i * 3_000_000, (i + 1) * 3_000_000);
      await new Promise((resolve) => upload.write(part, resolve));
      await ping(busy.session);
    }
    expect(busy.session.closed).toBe(false);
    using idle = new RawGrpcConnection(server.target);
    let goawayCode: number | undefined;
    idle.session.on("goaway", (code) => {
      goawayCode = code;
    });
    for (let i = 0; i < 8 && !idle.session.destroyed; i++)
      await ping(idle.session).catch(() => undefined);
    await eventually(() => goawayCode === constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
});

describe("long messages", () => {
  test("wait for room in the byte budget, and all get through", async () => {
    await using server = await GrpcTestServer.start({ maxInflightBytes: 3_000_000 });
    using client = new GrpcJsClient(server.target);
    const bytes = new Uint8Array(1_000_000).fill(5);
    let mostBytes = 0;
    const watch = setInterval(() => {
      mostBytes = Math.max(mostBytes, server.frontend.inflightBytes);
    }, 1);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => client.infer(bytesRequest(bytes))),
    );
    clearInterval(watch);
    expect(answers.map((answer) => answer.rawOutputContents[0]?.length)).toEqual(
      new Array(12).fill(bytes.length),
    );
    // What is received is bounded; what is answered comes on top of it, once for each.
    expect(mostBytes).toBeLessThan(7_000_000);
    await eventually(() => server.frontend.inflightBytes === 0);
  });

  test("that never end give their room back with the call", async () => {
    await using server = await GrpcTestServer.start();
    using connection = new RawGrpcConnection(server.target);
    const half = frame(messageBytes(bytesRequest(new Uint8Array(1_000_000)))).subarray(0, 500_000);
    void connection.call({ path: MODEL_INFER, chunks: [half], staysOpen: true });
    await eventually(() => server.frontend.inflightBytes > 0);
    connection.session.destroy();
    await eventually(() => server.frontend.inflightBytes === 0);
  });

  test("of a reader that reads nothing harm nobody else", async () => {
    await using server = await GrpcTestServer.start();
    const session = connect(`http://${server.target}`);
    const bytes = frame(messageBytes(bytesRequest(new Uint8Array(3_000_000))));
    const streams = Array.from({ length: 8 }, () => {
      const stream = session.request({
        ":method": "POST",
        ":path": MODEL_INFER,
        "content-type": "application/grpc",
      });
      stream.on("error", () => undefined);
      stream.end(bytes);
      return stream;
    });
    const { seen } = server.planes.model("id_uint8", "");
    await eventually(() => seen.length === 8);
    using client = new GrpcJsClient(server.target);
    expect(int32sOf((await client.infer(echoRequest([1]))).rawOutputContents[0])).toEqual([1]);
    // It reads after all, and everything is still there.
    const lengths = await Promise.all(
      streams.map(async (stream) => {
        let byteCount = 0;
        for await (const chunk of stream) byteCount += chunk.length;
        return byteCount;
      }),
    );
    for (const length of lengths) expect(length).toBeGreaterThan(3_000_000);
    session.close();
    await eventually(() => server.frontend.inflightBytes === 0);
  });
});
