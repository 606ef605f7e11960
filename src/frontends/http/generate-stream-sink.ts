import type { InferenceError } from "../../base/error.ts";
import { inferenceErrorFrom } from "../../base/error.ts";
import type { InferenceRequest } from "../../core/request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../../core/request/inference-response.ts";
import { HTTP_STATUS, httpStatusOf } from "../status.ts";
import { encodeGenerateResponse } from "./codec/generate-response.ts";

/** Bytes of events that may wait for a client that reads slowly; then its request is stopped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
} as const;

/**
 * Where the answers to `…/generate_stream` go: each response is one server-sent event, an error too, and the stream
 * ends with the request. The status follows the first event.
 */
export class GenerateStreamSink implements ResponseSink {
  /** Settles with the first event or the end. Never rejects. */
  readonly response: Promise<Response>;
  /** Set as soon as the request exists. */
  request: InferenceRequest | undefined = undefined;
  /** Called once, when the request has ended. */
  onEnd: (() => void) | undefined = undefined;
  readonly #resolve: (response: Response) => void;
  readonly #stream: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined = undefined;
  #isOpen = false;
  #isClosed = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
    this.#stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#isClosed = true;
          this.request?.cancel();
        },
      },
      { highWaterMark: MAX_WAITING_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
    );
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    try {
      this.#send(encodeGenerateResponse(response));
      this.#open(HTTP_STATUS.ok);
    } catch (thrown) {
      this.onError(inferenceErrorFrom(thrown), false);
    }
    if (isFinal) this.onComplete();
  }

  onError(error: InferenceError, isFinal: boolean): void {
    this.#send(JSON.stringify({ error: error.message }));
    this.#open(httpStatusOf(error.code));
    if (isFinal) this.onComplete();
  }

  onComplete(): void {
    this.#open(HTTP_STATUS.ok);
    this.#close();
    this.onEnd?.();
  }

  /** The first call decides the status; further ones do nothing. */
  #open(status: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#resolve(new Response(this.#stream, { status, headers: EVENT_STREAM_HEADERS }));
  }

  #send(json: string): void {
    const controller = this.#controller;
    if (this.#isClosed || !controller) return;
    controller.enqueue(Buffer.from(`data: ${json}\n\n`));
    if ((controller.desiredSize ?? 0) > 0) return;
    const text = `the client reads too slowly: more than ${MAX_WAITING_BYTES} bytes of events are waiting`;
    controller.enqueue(Buffer.from(`data: ${JSON.stringify({ error: text })}\n\n`));
    this.#close();
    this.request?.cancel();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#controller?.close();
  }
}
