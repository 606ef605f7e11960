import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { HttpTestServer, readInferResponse } from "../../../support/http-test-server.ts";
import { HeldModel } from "../../../support/sample-models.ts";
import { blobInput, bytesOf, jsonInput, sumRequest } from "./sum-request.ts";

let server: HttpTestServer;
let held: HeldModel;
beforeAll(async () => {
  server = await HttpTestServer.start();
  held = server.planes.add(new HeldModel("held"));
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends bytes on a fresh connection; everything received until `isEnough`, or the peer closes. */
function raw(payload: string, isEnough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(server.frontend.port, "127.0.0.1", () => socket.write(payload));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (isEnough(received)) socket.destroy();
    });
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
  });
}

function post(path: string, body: string, ...headers: string[]): string {
  const lines = [`POST ${path} HTTP/1.1`, "Host: x", `Content-Length: ${body.length}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

const HELD_BODY = JSON.stringify({ inputs: [jsonInput("INPUT0", "INT32", [1], [5])] });

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; !isTrue(); i++) {
    if (i === 2000) throw new Error("waited 2 s in vain");
    await Bun.sleep(1);
  }
}

describe("the transport", () => {
  test("answers pipelined requests in order where each is answered at once", async () => {
    const bodies = [0, 1, 2, 3, 4].map((i) => JSON.stringify(sumRequest({ id: `p${i}` })));
    const payload = bodies.map((body) => post("/v2/models/add_sub/infer", body)).join("");
    const received = await raw(payload, (text) => text.split('"OUTPUT1"').length === 6);
    expect([...(received.match(/"id":"p\d"/g) ?? [])]).toEqual(
      [0, 1, 2, 3, 4].map((i) => `"id":"p${i}"`),
    );
  });

  // Bun.serve gives up a connection whose next request comes before the answer to the last; see compatibility.md.
  test("closes a connection that pipelines faster than that, and goes on", async () => {
    const slow = server.planes.add(new HeldModel("slow"));
    const request = post("/v2/models/slow/infer", HELD_BODY);
    expect(await raw(request + request, () => false)).toBe("");
    await until(() => slow.held[0]?.request.isEnded === true);
    expect((await server.get("/v2/health/live")).status).toBe(200);
  });

  test("honours Connection: close", async () => {
    const request = post(
      "/v2/models/add_sub/infer",
      JSON.stringify(sumRequest()),
      "Connection: close",
    );
    const received = await raw(request, () => false);
    expect(received.startsWith("HTTP/1.1 200")).toBe(true);
    expect(received.endsWith("}")).toBe(true);
  });

  test("understands chunked bodies", async () => {
    const body = JSON.stringify(sumRequest());
    const response = await fetch(`${server.url}/v2/models/add_sub/infer`, {
      method: "POST",
      body: new ReadableStream({
        start(controller) {
          for (const part of [body.slice(0, 10), body.slice(10, 11), body.slice(11)]) {
            controller.enqueue(new TextEncoder().encode(part));
          }
          controller.close();
        },
      }),
    });
    expect((await readInferResponse(response)).head.outputs[0]?.data?.[1]).toBe(4);
  });

  test("survives hosts and versions that are none", async () => {
    for (const head of ["GET /v2 HTTP/1.1\r\nHost: [::1\r\n", "GET /v2 HTTP/1.0\r\n"]) {
      expect(await raw(`${head}\r\n`, (text) => text.includes("}"))).toContain("200");
    }
    expect(await raw("NONSENSE\r\n\r\n", () => false)).toContain("400");
  });

  test("64 clients at once get their own answers", async () => {
    const one = async (number: number) => {
      for (let turn = 0; turn < 4; turn++) {
        const values = new Int32Array([1, 1000, 50_000, 17][(number + turn) % 4] ?? 1).fill(number);
        const shape = [values.length];
        const id = `${number}.${turn}`;
        const isBinary = turn % 2 === 1;
        const response = isBinary
          ? await server.infer(
              "id_int32",
              { id, inputs: [blobInput("INPUT0", "INT32", shape, values.byteLength)] },
              [bytesOf(values)],
            )
          : await server.infer("id_int32", {
              id,
              inputs: [jsonInput("INPUT0", "INT32", shape, [...values])],
            });
        const { head } = await readInferResponse(response);
        expect(head.id).toBe(id);
        expect(head.outputs[0]?.data).toEqual([...values]);
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, number) => one(number)));
  });

  test("carries 64 MiB both ways", async () => {
    const blob = new Uint8Array(64 << 20).map((_, i) => i * 7);
    const request = {
      inputs: [blobInput("INPUT0", "UINT8", [blob.byteLength], blob.byteLength)],
      parameters: { binary_data_output: true },
    };
    const { blobs } = await readInferResponse(await server.infer("id_uint8", request, [blob]));
    expect(Buffer.compare(blobs["OUTPUT0"] ?? new Uint8Array(0), blob)).toBe(0);
  });
});

describe("a client that leaves", () => {
  test("cancels its inference, which is counted as such", async () => {
    const socket = connect(server.frontend.port, "127.0.0.1", () =>
      socket.write(post("/v2/models/held/infer", HELD_BODY)),
    );
    await until(() => held.held.length === 1);
    const request = held.held.shift()?.request;
    expect(request?.isCancelled).toBe(false);
    socket.destroy();
    await until(() => request?.isCancelled === true && request.isEnded);
    expect(held.statistics.snapshot().failuresByReason.CANCELED).toBe(1);
  });

  test("after its answer cancels nothing", async () => {
    const response = server.infer("held", HELD_BODY);
    await until(() => held.held.length === 1);
    const request = held.held[0]?.request;
    held.release();
    expect((await response).status).toBe(200);
    await Bun.sleep(20);
    expect(request?.isCancelled).toBe(false);
  });

  test("in the middle of a body leaves nothing behind", async () => {
    await using own = await HttpTestServer.start({ maxInflightBytes: 1000 });
    for (let i = 0; i < 5; i++) {
      const socket = connect(own.frontend.port, "127.0.0.1", () =>
        socket.write(post("/v2/models/add_sub/infer", "x".repeat(900)).slice(0, 300)),
      );
      await Bun.sleep(20);
      socket.destroy();
      await Bun.sleep(20);
    }
    expect((await own.infer("add_sub", sumRequest())).status).toBe(200);
    expect(own.logger.messages("error")).toEqual([]);
  });
});

describe("start and stop", () => {
  test("stop lets the requests in hand finish and takes no new ones", async () => {
    const own = await HttpTestServer.start();
    const slow = own.planes.add(new HeldModel("slow"));
    const response = own.infer("slow", HELD_BODY);
    await until(() => slow.held.length === 1);
    let isStopped = false;
    const stopping = own.frontend.stop().then(() => {
      isStopped = true;
    });
    await Bun.sleep(20);
    expect(isStopped).toBe(false);
    await expect(own.get("/v2")).rejects.toThrow();
    slow.release();
    expect((await response).status).toBe(200);
    await stopping;
  });

  test.each([
    ["head", "POST /v2/models/add_sub/infer HTTP/1.1\r\nHos"],
    ["body", "POST /v2/models/add_sub/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"],
    [
      "chunked body",
      "POST /v2/models/add_sub/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ],
  ])("stop does not wait for the rest of a %s", async (_, part) => {
    const own = await HttpTestServer.start();
    const closed = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: own.frontend.port,
      socket: { data: () => undefined, close: () => closed.resolve() },
    });
    socket.write(part);
    socket.flush();
    await Bun.sleep(50);
    await own.frontend.stop();
    await closed.promise;
  });

  test("kill ends open requests as cancelled", async () => {
    const own = await HttpTestServer.start();
    const slow = own.planes.add(new HeldModel("slow"));
    const response = own.infer("slow", HELD_BODY).catch(() => "gone");
    await until(() => slow.held.length === 1);
    await own.frontend.kill();
    expect(await response).toBe("gone");
    await until(() => slow.held[0]?.request.isEnded === true);
  });

  test("a port that is taken is a clear error", async () => {
    await expect(HttpTestServer.start({ port: server.frontend.port })).rejects.toThrow(
      `cannot listen for HTTP on 127.0.0.1:${server.frontend.port}`,
    );
  });

  test("the port can be shared on purpose", async () => {
    await using first = await HttpTestServer.start({ reusePort: true });
    await using second = await HttpTestServer.start({ reusePort: true, port: first.frontend.port });
    expect(second.frontend.port).toBe(first.frontend.port);
  });
});
