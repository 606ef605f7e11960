import type { HttpFrontendOptions } from "../../src/frontends/http/http-context.ts";
import type { HttpFrontend } from "../../src/frontends/http/http-frontend.ts";
import { startHttpFrontend } from "../../src/frontends/http/http-frontend.ts";
import { InMemoryPlanes } from "./in-memory-planes.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** Name of the header that tells where the JSON of a body ends. */
export const LENGTH_HEADER = "Inference-Header-Content-Length";

/** The REST interface on a free port of this machine, over planes in memory. */
export class HttpTestServer implements AsyncDisposable {
  readonly planes: InMemoryPlanes;
  readonly logger: RecordingLogger;
  readonly frontend: HttpFrontend;
  readonly url: string;

  private constructor(planes: InMemoryPlanes, logger: RecordingLogger, frontend: HttpFrontend) {
    this.planes = planes;
    this.logger = logger;
    this.frontend = frontend;
    this.url = `http://127.0.0.1:${frontend.port}`;
  }

  static async start(options: Partial<HttpFrontendOptions> = {}): Promise<HttpTestServer> {
    const planes = new InMemoryPlanes();
    const logger = new RecordingLogger();
    const frontend = await startHttpFrontend({
      dataPlane: planes,
      controlPlane: planes,
      logger,
      clock: { nowNs: Bun.nanoseconds, after: () => () => undefined },
      formatConfig: (model) => JSON.stringify({ name: model.name, max_batch_size: 8 }),
      address: "127.0.0.1",
      port: 0,
      ...options,
    });
    return new HttpTestServer(planes, logger, frontend);
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.url + path, { headers });
  }

  /** @param body text and bytes as they are, anything else as JSON. */
  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const isReady = typeof body === "string" || body instanceof Uint8Array;
    const text = body === undefined || isReady ? body : JSON.stringify(body);
    return fetch(this.url + path, {
      method: "POST",
      headers: { "accept-encoding": "identity", ...headers },
      ...(text === undefined ? {} : { body: text as string }),
      decompress: false,
    });
  }

  /** POSTs an infer request; with blobs in the binary form. */
  infer(
    model: string,
    request: unknown,
    blobs?: readonly Uint8Array[],
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const path = `/v2/models/${model}/infer`;
    if (!blobs) return this.post(path, request, headers);
    const head = Buffer.from(typeof request === "string" ? request : JSON.stringify(request));
    return this.post(path, new Uint8Array(Buffer.concat([head, ...blobs])), {
      [LENGTH_HEADER]: String(head.byteLength),
      ...headers,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.frontend.kill();
  }
}

/** An output of an infer response as the wire has it. */
export interface WireOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: readonly unknown[];
  readonly parameters?: { readonly binary_data_size?: number };
}

/** The JSON part of an infer response. */
export interface WireResponse {
  readonly id?: string;
  readonly model_name: string;
  readonly model_version: string;
  readonly outputs: readonly WireOutput[];
}

/** A good answer taken apart; throws unless the status is 200 and the blobs fill the body exactly. */
export async function readInferResponse(
  response: Response,
): Promise<{ head: WireResponse; blobs: Record<string, Uint8Array> }> {
  const body = new Uint8Array(await response.arrayBuffer());
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!response.ok) throw new Error(`status ${response.status}: ${text(body)}`);
  const length = response.headers.get(LENGTH_HEADER);
  const headBytes = length === null ? body.byteLength : Number(length);
  const head = JSON.parse(text(body.subarray(0, headBytes))) as WireResponse;
  const blobs: Record<string, Uint8Array> = {};
  let at = headBytes;
  for (const output of head.outputs) {
    const byteLength = output.parameters?.binary_data_size;
    if (byteLength === undefined) continue;
    blobs[output.name] = body.subarray(at, at + byteLength);
    at += byteLength;
  }
  if (at !== body.byteLength) throw new Error(`${body.byteLength - at} bytes are left over`);
  return { head, blobs };
}

/** Status and text of a refusal; throws when the body is not `{"error": text}`. */
export async function readError(response: Response): Promise<{ status: number; error: string }> {
  const text = await response.text();
  const body = JSON.parse(text) as { error?: unknown };
  if (typeof body.error !== "string" || body.error === "") throw new Error(`no error in ${text}`);
  return { status: response.status, error: body.error };
}
