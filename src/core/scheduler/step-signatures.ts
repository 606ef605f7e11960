import { shapesEqual } from "../../base/shape.ts";
import {
  type InputDescription,
  type RequestedOutput,
  RequestSignature,
} from "../request/request-signature.ts";

interface LastSignature {
  readonly source: RequestSignature;
  readonly signature: RequestSignature;
}

/**
 * Signatures of the requests to the steps of one ensemble. Keeps the last one of each step, so that like requests are
 * validated once: what flows between the steps mostly has the same shapes every time.
 */
export class StepSignatures {
  readonly #last: (LastSignature | undefined)[] = [];

  /**
   * @param source of the request to the ensemble: parameters, priority, timeout and sequence are passed on.
   * @param outputs depend on `source` and the step alone.
   */
  signatureOf(
    step: number,
    source: RequestSignature,
    inputs: readonly InputDescription[],
    outputs: readonly RequestedOutput[],
  ): RequestSignature {
    const last = this.#last[step];
    if (last?.source === source && isSame(last.signature.inputs, inputs)) return last.signature;
    const signature = new RequestSignature({
      inputs,
      outputs,
      parameters: source.parameters,
      priority: source.priority,
      timeoutMicroseconds: source.timeoutMicroseconds,
      sequenceId: source.sequenceId,
      sequenceStart: source.sequenceStart,
      sequenceEnd: source.sequenceEnd,
    });
    this.#last[step] = { source, signature };
    return signature;
  }
}

function isSame(a: readonly InputDescription[], b: readonly InputDescription[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const [one, other] = [a[i], b[i]];
    if (one === undefined || other === undefined) return false;
    if (one.name !== other.name || one.datatype !== other.datatype) return false;
    if (!shapesEqual(one.shape, other.shape)) return false;
  }
  return true;
}
