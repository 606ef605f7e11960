import type { InferenceError } from "../../base/error.ts";
import { inferenceErrorFrom } from "../../base/error.ts";
import type { InferenceResponse, ResponseSink } from "../../core/request/inference-response.ts";
import { HTTP_STATUS } from "../status.ts";
import type { EncodedResponse } from "./codec/infer-response.ts";
import { type InferResponseCodec, wrongResponseCount } from "./codec/infer-response.ts";
import type { RequestPlan } from "./codec/request-plan.ts";
import type { ResponseEncoding } from "./compression.ts";
import { compress } from "./compression.ts";
import { responseOfError } from "./json-response.ts";

/** What an {@link InferSink} works with. */
export interface InferSinkFields {
  readonly plan: RequestPlan;
  readonly codec: InferResponseCodec;
  readonly encoding: ResponseEncoding;
}

/**
 * Where the answer to one HTTP inference goes: exactly one response becomes the body, any other number is an error.
 */
export class InferSink implements ResponseSink {
  /** Settles once the request has ended. Never rejects. */
  readonly response: Promise<Response>;
  readonly #fields: InferSinkFields;
  readonly #resolve: (response: Response | Promise<Response>) => void;
  #first: Response | Promise<Response> | undefined = undefined;
  #responseCount = 0;

  constructor(fields: InferSinkFields) {
    this.#fields = fields;
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    this.#responseCount++;
    if (this.#responseCount === 1) this.#first = this.#render(response);
    if (isFinal) this.#end();
  }

  onError(error: InferenceError, isFinal: boolean): void {
    this.#responseCount++;
    if (this.#responseCount === 1) this.#first = responseOfError(error);
    if (isFinal) this.#end();
  }

  onComplete(): void {
    this.#end();
  }

  #end(): void {
    const isSingle = this.#first !== undefined && this.#responseCount === 1;
    this.#resolve(
      isSingle && this.#first
        ? this.#first
        : responseOfError(wrongResponseCount(this.#responseCount)),
    );
  }

  #render(response: InferenceResponse): Response | Promise<Response> {
    const { codec, plan, encoding } = this.#fields;
    try {
      const encoded = codec.encode(response, plan);
      return encoding === "identity"
        ? new Response(encoded.body, { headers: headersOf(encoded) })
        : compressed(encoded, encoding);
    } catch (thrown) {
      return responseOfError(inferenceErrorFrom(thrown));
    }
  }
}

function headersOf({ headerLength }: EncodedResponse): Record<string, string> {
  return headerLength === undefined
    ? { "content-type": "application/json" }
    : {
        "content-type": "application/octet-stream",
        "inference-header-content-length": String(headerLength),
      };
}

/** The encoded bytes are borrowed, so they are copied before compression leaves the main thread. */
function compressed(encoded: EncodedResponse, encoding: "gzip" | "deflate"): Promise<Response> {
  const headers = headersOf(encoded);
  const { body } = encoded;
  const copy = body instanceof Blob ? body.bytes() : Promise.resolve(new Uint8Array(body));
  return copy.then(async (plain) => {
    const packed = await compress(plain, encoding);
    if (!packed) return new Response(plain, { status: HTTP_STATUS.ok, headers });
    return new Response(packed, {
      status: HTTP_STATUS.ok,
      headers: { ...headers, "content-encoding": encoding },
    });
  });
}
