import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { InferenceRequest } from "../../core/request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../../core/request/inference-response.ts";
import { encodeGenerateResponse } from "./codec/generate-response.ts";
import { jsonTextResponse, responseOfError } from "./json-response.ts";

const NOT_ONE_RESPONSE =
  "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses";

/**
 * Where the answer to `…/generate` goes: exactly one response becomes the body. A model that begins a second one is
 * stopped, since nobody would read it.
 */
export class GenerateSink implements ResponseSink {
  /** Settles once the answer is known. Never rejects. */
  readonly response: Promise<Response>;
  /** Set as soon as the request exists. */
  request: InferenceRequest | undefined = undefined;
  readonly #resolve: (response: Response) => void;
  #first: Response | undefined = undefined;
  #isSettled = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    this.#take(() => {
      try {
        return jsonTextResponse(encodeGenerateResponse(response));
      } catch (thrown) {
        return responseOfError(inferenceErrorFrom(thrown));
      }
    }, isFinal);
  }

  onError(error: InferenceError, isFinal: boolean): void {
    this.#take(() => responseOfError(error), isFinal);
  }

  onComplete(): void {
    this.#settle(this.#first);
  }

  #take(render: () => Response, isFinal: boolean): void {
    if (this.#isSettled) return;
    if (this.#first) {
      this.#settle(undefined);
      this.request?.cancel();
      return;
    }
    this.#first = render();
    if (isFinal) this.#settle(this.#first);
  }

  #settle(response: Response | undefined): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#resolve(response ?? responseOfError(new InferenceError("INVALID_ARG", NOT_ONE_RESPONSE)));
  }
}
