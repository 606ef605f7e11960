import { elementBytesOf } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import { elementCount } from "../../../base/shape.ts";
import type { Model } from "../../../core/model/model.ts";
import { RequestMemo } from "../../request-memo.ts";
import { latin1Text } from "./byte-text.ts";
import { readInferHeader } from "./infer-header.ts";
import { JsonReader } from "./json-reader.ts";
import { tensorBytesFromJson } from "./json-tensor-reader.ts";
import { rawBinaryPlan } from "./raw-binary-request.ts";
import type { DecodedRequest, RequestPlan } from "./request-plan.ts";
import { planFromHeader } from "./request-plan.ts";

/** Name of the HTTP header that tells where the JSON ends and the binary tail begins. */
export const HEADER_LENGTH_NAME = "inference-header-content-length";

/** `{"id":"`: with the id in front, the rest of the header can be remembered whatever the id is. */
const ID_PREFIX = '{"id":"';
/**
 * Inputs up to this size are copied out of the body: a view of a fresh body costs 1 µs, as much as copying this much.
 */
const MAX_COPIED_BYTES = 2048;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Options of {@link InferRequestCodec}. */
export interface InferRequestCodecOptions {
  /** `--http-max-input-size`: the most bytes of JSON, and of one tensor given as JSON. */
  readonly maxInputBytes: number;
}

/**
 * Reads infer requests: all JSON, JSON with a binary tail, or one raw tensor.
 * Headers that come again are not parsed again: see {@link RequestMemo}.
 */
export class InferRequestCodec {
  readonly #maxInputBytes: number;
  /** By model, so that a model that goes takes what was remembered for it along. */
  readonly #memos = new WeakMap<Model, RequestMemo<RequestPlan>>();

  constructor(options: InferRequestCodecOptions) {
    this.#maxInputBytes = options.maxInputBytes;
  }

  /**
   * @param body the whole body; the inputs of the result are views of it.
   * @param headerLength text of the header {@link HEADER_LENGTH_NAME}, null when it is absent.
   * @throws InferenceError INVALID_ARG.
   */
  decode(model: Model, body: Uint8Array, headerLength: string | null): DecodedRequest {
    const jsonBytes = headerLength === null ? body.byteLength : lengthOf(headerLength, body);
    if (jsonBytes === 0 && headerLength !== null) {
      this.checkSize("Raw request", body.byteLength);
      return rawBinaryPlan(model, body);
    }
    this.checkSize("Request JSON", jsonBytes);
    let memo = this.#memos.get(model);
    if (!memo) {
      memo = new RequestMemo();
      this.#memos.set(model, memo);
    }
    // A header of JSON alone has data in it, which makes it too unlike others to be remembered; the few that have
    // no inputs at all are cheap to read.
    return jsonBytes < body.byteLength
      ? this.#decodeRemembered(model, memo, body, jsonBytes)
      : this.#decodeFresh(model, body, jsonBytes).request;
  }

  /** @throws InferenceError INVALID_ARG when `byteLength` is above `--http-max-input-size`. */
  checkSize(what: string, byteLength: number): void {
    if (byteLength <= this.#maxInputBytes) return;
    throw new InferenceError(
      "INVALID_ARG",
      `${what} size of ${byteLength} bytes exceeds the maximum allowed value of ${this.#maxInputBytes} bytes. ` +
        "Use --http-max-input-size to increase the limit.",
    );
  }

  #decodeRemembered(
    model: Model,
    memo: RequestMemo<RequestPlan>,
    body: Uint8Array,
    jsonBytes: number,
  ): DecodedRequest {
    const idEnd = leadingIdEnd(body, jsonBytes);
    const key = latin1Text(body, idEnd, jsonBytes);
    const plan = memo.get(key);
    if (plan) {
      const id = idEnd === 0 ? "" : latin1Text(body, ID_PREFIX.length, idEnd);
      return { plan, id, inputBytes: cutTail(model, plan, body, jsonBytes) };
    }
    const fresh = this.#decodeFresh(model, body, jsonBytes);
    const hasOtherId = idEnd === 0 && fresh.request.id !== "";
    if (!fresh.hasJsonData && !hasOtherId) memo.set(key, fresh.request.plan);
    return fresh.request;
  }

  #decodeFresh(
    model: Model,
    body: Uint8Array,
    jsonBytes: number,
  ): { request: DecodedRequest; hasJsonData: boolean } {
    const header = readInferHeader(new JsonReader(body, 0, jsonBytes));
    const plan = planFromHeader(header, model);
    const inputBytes = cutTail(model, plan, body, jsonBytes);
    let hasJsonData = false;
    for (const [index, { source }] of header.inputs.entries()) {
      const description = plan.signature.inputs[index];
      if (source.kind !== "json" || !description) continue;
      hasJsonData = true;
      const count = elementCount(description.shape);
      const size = count * elementBytesOf(description.datatype);
      this.checkSize(`Input '${description.name}'`, size);
      inputBytes[index] = tensorBytesFromJson({
        body,
        start: source.start,
        end: source.end,
        inputName: description.name,
        datatype: description.datatype,
        shape: description.shape,
        elementCount: count,
      });
    }
    return { request: { plan, id: header.id, inputBytes }, hasJsonData };
  }
}

function lengthOf(text: string, body: Uint8Array): number {
  const length = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (length >= 0 && length <= body.byteLength) return length;
  throw new InferenceError(
    "INVALID_ARG",
    `inference header size should be in range (0, ${body.byteLength}), got: ${text}`,
  );
}

/**
 * Offset of the quote that ends an id in front of the header, 0 when there is none or when it needs decoding.
 * Only printable ASCII passes: such an id can be cut out and written back as it is.
 */
function leadingIdEnd(header: Uint8Array, jsonBytes: number): number {
  if (jsonBytes < ID_PREFIX.length) return 0;
  for (let i = 0; i < ID_PREFIX.length; i++) {
    if (header[i] !== ID_PREFIX.charCodeAt(i)) return 0;
  }
  for (let at = ID_PREFIX.length; at < jsonBytes; at++) {
    const byte = header[at] as number;
    if (byte === QUOTE) return at;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return 0;
  }
  return 0;
}

/**
 * Cuts the binary tail into the inputs, in their order in the header; inputs without bytes in it get an empty view.
 *
 * @throws InferenceError INVALID_ARG when the sizes do not add up to the tail.
 */
function cutTail(
  model: Model,
  plan: RequestPlan,
  body: Uint8Array,
  jsonBytes: number,
): Uint8Array[] {
  const { tailBytes } = plan;
  const inputBytes: Uint8Array[] = [];
  let at = jsonBytes;
  for (let i = 0; i < tailBytes.length; i++) {
    const size = Math.max(0, tailBytes[i] as number);
    const end = at + size;
    if (end > body.byteLength) {
      throw new InferenceError(
        "INVALID_ARG",
        `unexpected size for input '${plan.signature.inputs[i]?.name}', expecting ${end - body.byteLength} additional bytes for model '${model.name}'`,
      );
    }
    inputBytes.push(size <= MAX_COPIED_BYTES ? body.slice(at, end) : body.subarray(at, end));
    at = end;
  }
  if (at < body.byteLength) {
    throw new InferenceError(
      "INVALID_ARG",
      `unexpected additional input data for model '${model.name}': ${body.byteLength - at} bytes after the last input`,
    );
  }
  return inputBytes;
}
