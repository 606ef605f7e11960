import type { ServerProcess } from "../bench/end-to-end/server-process.ts";
import { probe } from "./probe.ts";

const ELEMENT_BYTES = 4;

/** Opens many idle connections on both ports and keeps answering good requests beside them. */
export async function manyConnections(server: ServerProcess, count: number): Promise<void> {
  const sockets: Bun.Socket<undefined>[] = [];
  try {
    for (let i = 0; i < count; i++) {
      sockets.push(await open(i % 2 === 0 ? server.httpPort : server.grpcPort));
    }
    for (let i = 0; i < 50; i++) await probe(server);
    await Promise.all(Array.from({ length: 100 }, () => probe(server)));
  } finally {
    for (const socket of sockets) socket.terminate();
  }
}

/** Asks for answers that nobody reads; good requests must still be answered. */
export async function slowReaders(server: ServerProcess, count: number): Promise<void> {
  const sockets: Bun.Socket<undefined>[] = [];
  const elements = 1024;
  const blob = new Uint8Array(elements * ELEMENT_BYTES);
  const head = JSON.stringify({
    inputs: [
      {
        name: "INPUT0",
        datatype: "FP32",
        shape: [elements],
        parameters: { binary_data_size: blob.length },
      },
    ],
    parameters: { binary_data_output: true },
  });
  const prefix = `POST /v2/models/identity/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: ${head.length}\r\nContent-Length: ${head.length + blob.length}\r\n\r\n${head}`;
  const request = Buffer.concat([Buffer.from(prefix), blob]);
  try {
    for (let i = 0; i < count; i++) {
      const socket = await open(server.httpPort);
      socket.pause();
      for (let n = 0; n < 200; n++) socket.write(request);
      sockets.push(socket);
    }
    for (let i = 0; i < 50; i++) await probe(server);
  } finally {
    for (const socket of sockets) socket.terminate();
  }
}

/** Sends one tensor of about `bytes` to the echo model and compares what comes back. */
export async function bigRequest(server: ServerProcess, bytes: number): Promise<void> {
  const elements = Math.floor(bytes / ELEMENT_BYTES);
  const head = new TextEncoder().encode(
    JSON.stringify({
      inputs: [
        {
          name: "INPUT0",
          datatype: "FP32",
          shape: [elements],
          parameters: { binary_data_size: elements * ELEMENT_BYTES },
        },
      ],
      parameters: { binary_data_output: true },
    }),
  );
  const body = new Uint8Array(head.length + elements * ELEMENT_BYTES);
  body.set(head);
  for (let at = head.length; at < body.length; at += 4099) body[at] = at % 251;
  const answer = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/echo/infer`, {
    method: "POST",
    headers: { "Inference-Header-Content-Length": String(head.length) },
    body,
  });
  const answered = new Uint8Array(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${answer.status} for ${bytes} bytes`);
  const tail = answered.subarray(Number(answer.headers.get("Inference-Header-Content-Length")));
  if (Buffer.compare(tail, body.subarray(head.length)) !== 0) {
    throw new Error(`the echo of ${bytes} bytes differs: got ${tail.length} bytes`);
  }
}

/** Loads and unloads one model again and again, with a good request to it each time. */
export async function loadUnloadCycles(
  server: ServerProcess,
  model: string,
  cycles: number,
): Promise<void> {
  const url = `http://127.0.0.1:${server.httpPort}/v2/repository/models/${model}`;
  for (let i = 0; i < cycles; i++) {
    await post(`${url}/unload`, {}, 200);
    await post(`${url}/load`, {}, 200);
    await probe(server);
  }
}

async function post(url: string, body: unknown, status: number): Promise<void> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${url}: ${answer.status} ${text}`);
}

function open(port: number): Promise<Bun.Socket<undefined>> {
  return Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: { data: ignore, error: ignore, close: ignore },
  });
}

function ignore(): void {
  // What the server says to these connections does not matter here.
}
