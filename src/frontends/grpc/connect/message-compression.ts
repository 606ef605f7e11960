import { promisify } from "node:util";
import { deflate, gunzip, gzip, type InputType, inflate, type ZlibOptions } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import type { ResponseCompressionLevel } from "../grpc-context.ts";

type ZlibCall = (input: InputType, options: ZlibOptions) => Promise<Buffer>;

const CALLS = {
  gzip: {
    compress: promisify<InputType, ZlibOptions, Buffer>(gzip),
    decompress: promisify<InputType, ZlibOptions, Buffer>(gunzip),
  },
  deflate: {
    compress: promisify<InputType, ZlibOptions, Buffer>(deflate),
    decompress: promisify<InputType, ZlibOptions, Buffer>(inflate),
  },
} as const;

/** zlib's levels for gRPC's. `none` is never compressed; its level is for completeness. */
const ZLIB_LEVEL: Readonly<Record<ResponseCompressionLevel, number>> = {
  none: 0,
  low: 1,
  medium: 6,
  high: 9,
};

/** No message is that long, so none is compressed. */
export const NEVER_COMPRESS_BYTES = 0x7fffffff;
/** Below this, compression costs more than it saves. */
const COMPRESS_FROM_BYTES = 1024;

async function decompressed(
  call: ZlibCall,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.length === 0) return new Uint8Array(0);
  try {
    return new Uint8Array(await call(bytes, { maxOutputLength: maxBytes }));
  } catch (thrown) {
    const code = (thrown as { code?: unknown }).code;
    if (code === "ERR_BUFFER_TOO_LARGE") {
      throw new ConnectError(
        `message is longer than ${maxBytes} bytes when decompressed`,
        Code.ResourceExhausted,
      );
    }
    throw new ConnectError(
      "message cannot be decompressed",
      Code.InvalidArgument,
      undefined,
      undefined,
      thrown,
    );
  }
}

function compression(name: keyof typeof CALLS, level: number): Compression {
  const { compress, decompress } = CALLS[name];
  return {
    name,
    compress: async (bytes) => new Uint8Array(await compress(bytes, { level })),
    decompress: (bytes, readMaxBytes) => decompressed(decompress, bytes, readMaxBytes),
  };
}

/** How messages of an rpc are compressed. */
export interface MessageCompression {
  readonly acceptCompression: Compression[];
  readonly compressMinBytes: number;
}

/**
 * Takes gzip and deflate requests at every level. Answers are compressed only where a level is asked for: ConnectRPC's
 * own default, gzip for every client that can read it, costs six times the CPU of the rest of the call.
 */
export function messageCompression(level: ResponseCompressionLevel): MessageCompression {
  return {
    acceptCompression: [
      compression("gzip", ZLIB_LEVEL[level]),
      compression("deflate", ZLIB_LEVEL[level]),
    ],
    compressMinBytes: level === "none" ? NEVER_COMPRESS_BYTES : COMPRESS_FROM_BYTES,
  };
}
