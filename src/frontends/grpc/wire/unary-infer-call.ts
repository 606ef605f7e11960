import type { InferenceError } from "../../../base/error.ts";
import type { InferenceRequest } from "../../../core/request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../../../core/request/inference-response.ts";
import { GRPC_STATUS } from "../../status.ts";
import type { InferRequestForm } from "../codec/infer-request-form.ts";
import { inferResponseFrame } from "../codec/infer-response-bytes.ts";
import { startUnaryInfer, wrongResponseCount } from "../infer.ts";
import { callStatusFrom } from "./call-status.ts";
import { Http2Call } from "./http2-call.ts";

/** ModelInfer on the hot path: one message in, one frame out, and nothing allocated that is not needed. */
export class UnaryInferCall extends Http2Call implements ResponseSink {
  protected readonly rpcName = "ModelInfer";
  readonly #arrivalNs = this.context.clock.nowNs();
  #request: InferenceRequest | undefined;
  #form: InferRequestForm | undefined;
  #hasMessage = false;
  #frame: Buffer | undefined;
  #responseCount = 0;

  onMessage(message: Buffer): void {
    if (this.isOver) return;
    if (this.#hasMessage) {
      this.fail({
        code: GRPC_STATUS.unimplemented,
        message: "ModelInfer takes one request message, got more",
      });
      return;
    }
    this.#hasMessage = true;
    const { context } = this;
    this.#request = startUnaryInfer(context, context.decoder.open(message), {
      arrivalNs: this.#arrivalNs,
      metadata: this.metadata,
      makeSink: (form) => {
        this.#form = form;
        return this;
      },
    });
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    this.#responseCount++;
    if (this.isOver) return;
    try {
      // The bytes are borrowed: they are copied now, although the answer may have to wait for the end.
      if (this.#form) this.#frame ??= inferResponseFrame(response, this.#form);
    } catch (thrown) {
      this.onError(this.context.errorFrom(thrown, this.rpcName));
      return;
    }
    if (isFinal) this.onComplete();
  }

  onError(error: InferenceError): void {
    this.finish(callStatusFrom(error));
  }

  onComplete(): void {
    if (this.#frame && this.#responseCount === 1) this.finishWith(this.#frame);
    else this.onError(wrongResponseCount(this.#responseCount));
  }

  protected onHalfClose(): void {
    if (this.#hasMessage) return;
    this.fail({
      code: GRPC_STATUS.unimplemented,
      message: "ModelInfer takes one request message, got none",
    });
  }

  protected onCancel(): void {
    this.#request?.cancel();
  }
}
