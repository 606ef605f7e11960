import { promisify } from "node:util";
import { deflate, gunzip, gzip, inflate } from "node:zlib";
import { InferenceError } from "../../base/error.ts";
import { httpStatusOf } from "../status.ts";
import { HttpRefusal } from "./http-refusal.ts";

/** How a response body can leave. `deflate` is the zlib format, as everywhere in HTTP. */
export type ResponseEncoding = "identity" | "gzip" | "deflate";

const DECOMPRESS = { gzip: promisify(gunzip), deflate: promisify(inflate) } as const;
const COMPRESS = { gzip: promisify(gzip), deflate: promisify(deflate) } as const;

/** Level of responses: fast, since most of what is compressed here is tensors. */
const RESPONSE_LEVEL = 1;

/** Entries of an Accept-Encoding header that are looked at; no client needs as many. */
const MAX_ACCEPTED_COUNT = 16;

/**
 * Undoes `Content-Encoding`, off the main thread: a small body can grow to the whole limit.
 *
 * @throws HttpRefusal for encodings other than gzip, deflate and identity; InferenceError INVALID_ARG for damaged
 *   bodies and for those that grow beyond `maxBytes`.
 */
export async function decompress(
  bytes: Uint8Array,
  encoding: string | null,
  maxBytes: number,
): Promise<Uint8Array> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return bytes;
  if (name !== "gzip" && name !== "deflate") {
    throw new HttpRefusal(httpStatusOf("UNSUPPORTED"), "Unsupported compression type", {
      "accept-encoding": "gzip, deflate",
    });
  }
  try {
    const { buffer, byteOffset, byteLength } = await DECOMPRESS[name](bytes, {
      maxOutputLength: maxBytes,
    });
    return new Uint8Array(buffer, byteOffset, byteLength);
  } catch (thrown) {
    throw new InferenceError("INVALID_ARG", decompressionFault(thrown, name, bytes, maxBytes), {
      cause: thrown,
    });
  }
}

function decompressionFault(
  thrown: unknown,
  name: string,
  bytes: Uint8Array,
  maxBytes: number,
): string {
  if (thrown instanceof RangeError) {
    return (
      `Decompressed request size exceeds the maximum allowed value of ${maxBytes} bytes. ` +
      "Use --http-max-input-size to increase the limit."
    );
  }
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return `failed to decompress the ${name} request body of ${bytes.byteLength} bytes: ${reason}`;
}

/**
 * Compresses a response body.
 *
 * @param bytes must stay as they are until the promise settles.
 * @returns undefined when it cannot be done; the plain body is then sent.
 */
export async function compress(
  bytes: Uint8Array,
  encoding: "gzip" | "deflate",
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const packed = await COMPRESS[encoding](bytes, { level: RESPONSE_LEVEL });
    return packed as Uint8Array<ArrayBuffer>;
  } catch {
    return undefined;
  }
}

/**
 * Picks the encoding of a response: of gzip, deflate and identity the one with the highest weight above 0, the
 * first named among equals; identity when none is named. `*` is not looked at, as in Triton.
 *
 * @see RFC 9110 §12.5.3.
 */
export function encodingFromAccept(accept: string | null): ResponseEncoding {
  if (accept === null || accept === "" || accept === "identity") return "identity";
  let best: ResponseEncoding = "identity";
  let bestWeight = 0;
  for (const entry of accept.split(",", MAX_ACCEPTED_COUNT)) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    if (name !== "gzip" && name !== "deflate" && name !== "identity") continue;
    const weight = weightOf(parameters);
    if (weight > bestWeight) {
      best = name;
      bestWeight = weight;
    }
  }
  return best;
}

function weightOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith("q="));
  if (text === undefined) return 1;
  const weight = Number(text.slice(2));
  return weight >= 0 && weight <= 1 ? weight : 0;
}
