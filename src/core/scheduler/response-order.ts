import type { InferenceError } from "../../base/error.ts";
import type { ExecutionResult } from "../instance/model-instance.ts";
import type { Batch } from "../request/batch.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import type { RequestAnswers } from "../request/request-answers.ts";
import type { Parameters } from "../request/request-signature.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** What waits for the requests before it. */
interface OpenRequest {
  /** Answers to be given, in order. */
  readonly kept: (() => void)[];
  /** No more will come. */
  isOver: boolean;
}

/**
 * Holds answers back until every request that came before theirs has left (`preserve_ordering`). Bytes that have to
 * wait are copied, because their instance goes on.
 */
export class ResponseOrder {
  /** Requests that have not left, in arrival order. */
  readonly #open = new Map<InferenceRequest, OpenRequest>();

  opened(request: InferenceRequest): void {
    this.#open.set(request, { kept: [], isOver: false });
  }

  /** The request left the queue without running. */
  abandoned(request: InferenceRequest): void {
    this.#open.delete(request);
    this.#release();
  }

  /**
   * Delivers a batch now, or keeps it until its turn has come. Batches are made of requests in arrival order, so the
   * first one's turn is that of all.
   */
  deliver(batch: Batch, result: ExecutionResult, deliver: (result: ExecutionResult) => void): void {
    const [first, ...others] = batch.requests;
    if (first === undefined) return;
    for (const request of others) this.#end(request);
    this.pass(
      first,
      true,
      () => deliver(result),
      () => {
        const outputs = result.outputs.map((output) => ({
          ...output,
          bytes: output.bytes.slice(),
        }));
        return () => deliver({ ...result, outputs });
      },
    );
  }

  /**
   * Gives one answer of a request, or keeps it until its turn has come.
   * @param now gives it. @param keep makes what gives it later, with bytes of its own.
   */
  pass(request: InferenceRequest, isFinal: boolean, now: () => void, keep: () => () => void): void {
    const [next] = this.#open.keys();
    if (next === request || !this.#open.has(request)) now();
    else this.#open.get(request)?.kept.push(keep());
    if (isFinal) this.#end(request);
    this.#release();
  }

  #end(request: InferenceRequest): void {
    const entry = this.#open.get(request);
    if (entry !== undefined) entry.isOver = true;
  }

  #release(): void {
    for (const [request, entry] of this.#open) {
      for (const give of entry.kept.splice(0)) give();
      if (!entry.isOver) return;
      this.#open.delete(request);
    }
  }
}

/** Answers of instances that answer request by request, in the order in which the requests came. */
export class OrderedAnswers implements RequestAnswers {
  readonly #order: ResponseOrder;
  readonly #answers: RequestAnswers;

  constructor(order: ResponseOrder, answers: RequestAnswers) {
    this.#order = order;
    this.#answers = answers;
  }

  respond(
    request: InferenceRequest,
    outputs: readonly Tensor[],
    parameters: Parameters,
    isFinal: boolean,
  ): void {
    this.#order.pass(
      request,
      isFinal,
      () => this.#answers.respond(request, outputs, parameters, isFinal),
      () => {
        const copies = outputs.map((output) => ({ ...output, bytes: output.bytes.slice() }));
        return () => this.#answers.respond(request, copies, parameters, isFinal);
      },
    );
  }

  fail(request: InferenceRequest, error: InferenceError, isFinal: boolean): void {
    const give = (): void => this.#answers.fail(request, error, isFinal);
    this.#order.pass(request, isFinal, give, () => give);
  }

  complete(request: InferenceRequest): void {
    const give = (): void => this.#answers.complete(request);
    this.#order.pass(request, true, give, () => give);
  }

  reschedule(request: InferenceRequest): void {
    this.#answers.reschedule(request);
  }
}
