import type { InferenceError } from "../../src/base/error.ts";
import type { InferenceResponse, ResponseSink } from "../../src/core/request/inference-response.ts";

/** Keeps what a request was answered, for tests to look at. Output bytes are copied, as a frontend must. */
export class RecordingSink implements ResponseSink {
  readonly responses: InferenceResponse[] = [];
  readonly errors: InferenceError[] = [];
  /** Ends seen; a correct core gives exactly one. */
  endCount = 0;

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    const outputs = response.outputs.map((output) => ({ ...output, bytes: output.bytes.slice() }));
    this.responses.push({ ...response, outputs });
    if (isFinal) this.endCount++;
  }

  onError(error: InferenceError, isFinal: boolean): void {
    this.errors.push(error);
    if (isFinal) this.endCount++;
  }

  onComplete(): void {
    this.endCount++;
  }
}
