import { type ClientHttp2Session, connect, constants } from "node:http2";

/** One call whose every byte the test decides. */
export interface RawCall {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one after the other, each in its own turn. */
  readonly chunks?: readonly Uint8Array[];
  /** Leaves the call open after the chunks. */
  readonly staysOpen?: boolean;
}

/** The unary rpc of inference. */
export const MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer";
/** The streaming one. */
export const MODEL_STREAM_INFER = "/inference.GRPCInferenceService/ModelStreamInfer";

/** What came back. */
export interface RawAnswer {
  /** Response headers and trailers together; later ones win. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly rstCode: number;
}

/** A gRPC frame: the 5-byte prefix and the message. */
export function frame(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function stringsOf(headers: object): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** A connection on which raw calls are made. */
export class RawGrpcConnection implements Disposable {
  readonly session: ClientHttp2Session;

  constructor(target: string) {
    this.session = connect(`http://${target}`);
    this.session.on("error", () => undefined);
  }

  call({ path, headers = {}, chunks = [], staysOpen = false }: RawCall): Promise<RawAnswer> {
    const stream = this.session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    const seen: Record<string, string> = {};
    const body: Buffer[] = [];
    stream.on("response", (answer) => Object.assign(seen, stringsOf(answer)));
    stream.on("trailers", (trailers) => Object.assign(seen, stringsOf(trailers)));
    stream.on("data", (chunk: Buffer) => body.push(chunk));
    stream.on("error", () => undefined);
    void writeAll(stream, chunks, staysOpen);
    return new Promise((resolve) => {
      stream.on("close", () => {
        const rstCode = stream.rstCode ?? constants.NGHTTP2_NO_ERROR;
        resolve({ headers: seen, body: Buffer.concat(body), rstCode });
      });
    });
  }

  [Symbol.dispose](): void {
    this.session.destroy();
  }
}

async function writeAll(
  stream: ReturnType<ClientHttp2Session["request"]>,
  chunks: readonly Uint8Array[],
  staysOpen: boolean,
): Promise<void> {
  for (const chunk of chunks) {
    if (stream.destroyed) return;
    stream.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (!staysOpen && !stream.destroyed) stream.end();
}
