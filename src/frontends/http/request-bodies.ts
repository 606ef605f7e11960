import { InferenceError } from "../../base/error.ts";
import { HTTP_STATUS } from "../status.ts";
import { HttpRefusal } from "./http-refusal.ts";

const EMPTY_BODY: Uint8Array = new Uint8Array(0);

/** Limits of {@link RequestBodies}. */
export interface RequestBodyLimits {
  /** Of JSON bodies and of decompressed ones. */
  readonly maxInputBytes: number;
  /** Of any body, as it comes over the wire. */
  readonly maxBodyBytes: number;
  /** Of all bodies held at one time. */
  readonly maxInflightBytes: number;
}

/** A body in memory. Whoever read it gives its bytes back by {@link RequestBodies.release}. */
export interface RequestBody {
  readonly bytes: Uint8Array;
  /** What it counts for against the limit of bytes in flight. */
  readonly reservedBytes: number;
}

/** Reads request bodies under limits: of one, and of all at one time. */
export class RequestBodies {
  readonly limits: RequestBodyLimits;
  #inflightBytes = 0;
  #unsentCount = 0;

  constructor(limits: RequestBodyLimits) {
    this.limits = limits;
  }

  /** Bytes of bodies that were read and not released. */
  get inflightBytes(): number {
    return this.#inflightBytes;
  }

  /** Requests whose body is still to come, in whole or in part. */
  get unsentCount(): number {
    return this.#unsentCount;
  }

  /**
   * Reads a body as it is.
   *
   * @throws HttpRefusal 413 above the limit; InferenceError UNAVAILABLE when too much is in flight, CANCELLED when
   *   the client goes away in the middle.
   */
  async read(request: Request): Promise<RequestBody> {
    const declared = request.headers.get("content-length");
    if (declared === null) {
      return request.body
        ? this.#readChunked(request.body)
        : { bytes: EMPTY_BODY, reservedBytes: 0 };
    }
    const reservedBytes = Number(declared);
    this.#reserve(reservedBytes);
    this.#unsentCount++;
    try {
      return { bytes: await request.bytes(), reservedBytes };
    } catch (thrown) {
      this.release(reservedBytes);
      throw clientGone(thrown);
    } finally {
      this.#unsentCount--;
    }
  }

  /**
   * Reads a body that is JSON as a whole, or empty.
   *
   * @throws like {@link read}; InferenceError INVALID_ARG above `--http-max-input-size`.
   */
  async readJson(request: Request): Promise<Uint8Array> {
    const body = await this.read(request);
    this.release(body.reservedBytes);
    const { maxInputBytes } = this.limits;
    if (body.bytes.byteLength <= maxInputBytes) return body.bytes;
    throw new InferenceError(
      "INVALID_ARG",
      `Request JSON size of ${body.bytes.byteLength} bytes exceeds the maximum allowed value of ${maxInputBytes} bytes. ` +
        "Use --http-max-input-size to increase the limit.",
    );
  }

  /** Gives back what a body was counted for; call it once for each. */
  release(reservedBytes: number): void {
    this.#inflightBytes -= reservedBytes;
  }

  #reserve(byteLength: number): void {
    const { maxBodyBytes, maxInflightBytes } = this.limits;
    if (byteLength > maxBodyBytes) {
      throw new HttpRefusal(
        HTTP_STATUS.contentTooLarge,
        `request body of ${byteLength} bytes is above the limit of ${maxBodyBytes} bytes`,
      );
    }
    if (this.#inflightBytes + byteLength > maxInflightBytes) {
      throw new InferenceError(
        "UNAVAILABLE",
        `request body of ${byteLength} bytes refused: ${this.#inflightBytes} bytes of other requests are in flight, at most ${maxInflightBytes} may be`,
        { reason: "REJECTED" },
      );
    }
    this.#inflightBytes += byteLength;
  }

  /** A body of unknown length is counted as it comes. */
  async #readChunked(stream: ReadableStream<Uint8Array>): Promise<RequestBody> {
    const chunks: Uint8Array[] = [];
    let reservedBytes = 0;
    this.#unsentCount++;
    try {
      for await (const chunk of stream) {
        if (reservedBytes + chunk.byteLength > this.limits.maxBodyBytes) {
          this.#reserve(reservedBytes + chunk.byteLength);
        }
        this.#reserve(chunk.byteLength);
        reservedBytes += chunk.byteLength;
        chunks.push(chunk);
      }
    } catch (thrown) {
      this.release(reservedBytes);
      throw thrown instanceof HttpRefusal ? thrown : clientGone(thrown);
    } finally {
      this.#unsentCount--;
    }
    const [only] = chunks;
    if (only && chunks.length === 1) return { bytes: only, reservedBytes };
    const { buffer, byteOffset, byteLength } = Buffer.concat(chunks);
    return { bytes: new Uint8Array(buffer, byteOffset, byteLength), reservedBytes };
  }
}

function clientGone(thrown: unknown): InferenceError {
  if (thrown instanceof InferenceError) return thrown;
  return new InferenceError(
    "CANCELLED",
    "the client closed the connection before its request was complete",
    {
      cause: thrown,
      reason: "CANCELED",
    },
  );
}
