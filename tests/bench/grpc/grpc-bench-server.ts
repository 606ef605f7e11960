/**
 * The server of `grpc-frontend.bench.ts`, in a process of its own: `bun grpc-bench-server.ts floor|hot|connect`. Prints its port.
 */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { InferenceRequest } from "../../../src/core/request/inference-request.ts";
import { NO_PARAMETERS } from "../../../src/core/request/request-signature.ts";
import { startGrpcFrontend } from "../../../src/frontends/grpc/grpc-frontend.ts";
import { HTTP_STATUS } from "../../../src/frontends/status.ts";
import { InMemoryPlanes } from "../../support/in-memory-planes.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

/** Answers every request with its own inputs, all of one turn of the event loop at once, as a batch would be. */
class EchoPlanes extends InMemoryPlanes {
  #waiting: InferenceRequest[] = [];

  override infer(_model: object, request: InferenceRequest): void {
    if (this.#waiting.push(request) === 1) setImmediate(() => this.#answer());
  }

  #answer(): void {
    const requests = this.#waiting;
    this.#waiting = [];
    for (const { sink, id, signature, inputBytes } of requests) {
      const outputs = signature.inputs.map((input, i) => ({
        ...input,
        bytes: inputBytes[i] ?? new Uint8Array(0),
      }));
      sink.onResponse(
        { modelName: "add_sub", modelVersion: "1", id, parameters: NO_PARAMETERS, outputs },
        true,
      );
    }
  }
}

/** The least that node:http2 can do: takes the body, answers headers. */
function startFloor(): Promise<number> {
  const headers = { ":status": HTTP_STATUS.ok, "content-type": "application/grpc" };
  const options = { endStream: true, sendDate: false };
  const server = createServer({ settings: { initialWindowSize: 4 << 20 } });
  server.on("session", (session) => session.setLocalWindowSize(4 << 20));
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("data", () => undefined);
    stream.on("end", () => stream.respond(headers, options));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function startHotOrConnect(hotPath: boolean): Promise<number> {
  const planes = new EchoPlanes();
  const frontend = await startGrpcFrontend({
    dataPlane: planes,
    controlPlane: planes,
    logger: new RecordingLogger(),
    clock: { nowNs: Bun.nanoseconds, after: () => () => undefined },
    address: "127.0.0.1",
    port: 0,
    hotPath,
  });
  return frontend.port;
}

const mode = process.argv[2];
const port = mode === "floor" ? await startFloor() : await startHotOrConnect(mode === "hot");
process.stdout.write(`${port}\n`);
