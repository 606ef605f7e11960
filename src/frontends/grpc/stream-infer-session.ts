import type { InferenceError } from "../../base/error.ts";
import type { Model } from "../../core/model/model.ts";
import { InferenceRequest } from "../../core/request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../../core/request/inference-response.ts";
import type { OpenedInferRequest } from "./codec/infer-request-decoder.ts";
import type { InferRequestForm } from "./codec/infer-request-form.ts";
import type { StreamAnswers } from "./codec/stream-answers.ts";
import type { GrpcContext } from "./grpc-context.ts";
import { type CallMetadata, decodeForModel, wrongResponseCount } from "./infer.ts";

/** What a session is given by the call that carries it. */
export interface StreamInferSessionOptions<T> {
  readonly context: GrpcContext;
  readonly answers: StreamAnswers<T>;
  readonly metadata: () => CallMetadata;
  /** The client sent `triton_grpc_error: true`: an error of an execution ends the stream with its status. */
  readonly isStrict: boolean;
  /** Sends one answer. Never called after {@link end}. */
  readonly write: (answer: T) => void;
  /** The stream is over, well or with an error. Called once, unless the session is cancelled. */
  readonly end: (error?: InferenceError) => void;
  /** A request has ended: its message is held no longer. */
  readonly onRequestEnd?: () => void;
}

const RPC_NAME = "ModelStreamInfer";

/** The place of a request in the stream's order; its answer waits until those before it have gone. */
interface OrderedAnswer<T> {
  answer: T | undefined;
}

/**
 * One ModelStreamInfer call: requests of any models, at once, and their answers in Triton's order. A request of an
 * ordinary model has one answer, and those go out in the order of the requests; the answers of decoupled models go
 * out as they come. An error belongs to its request and does not end the stream, save in strict mode.
 *
 * @see Triton, grpc_service.proto, ModelStreamInfer; docs "Decoupled Backends and Models".
 */
export class StreamInferSession<T> {
  readonly #options: StreamInferSessionOptions<T>;
  readonly #requests = new Set<InferenceRequest>();
  #inflightBytes = 0;
  readonly #ordered: OrderedAnswer<T>[] = [];
  #isHalfClosed = false;
  #isOver = false;

  constructor(options: StreamInferSessionOptions<T>) {
    this.#options = options;
  }

  get options(): StreamInferSessionOptions<T> {
    return this.#options;
  }

  /** True once nothing more will be written. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Requests that have not ended. */
  get inflightCount(): number {
    return this.#requests.size;
  }

  /** Input bytes of the requests that have not ended. */
  get inflightBytes(): number {
    return this.#inflightBytes;
  }

  /** Starts a request; whatever is wrong with it becomes its answer. */
  submit(opened: OpenedInferRequest): void {
    if (this.#isOver) return;
    const { context, answers, metadata } = this.#options;
    let place: OrderedAnswer<T> | undefined;
    try {
      const arrivalNs = context.clock.nowNs();
      const model = context.dataPlane.model(opened.modelName, opened.modelVersion);
      if (!model.config.isDecoupled) place = this.#takePlace();
      const { form, id, inputBytes } = decodeForModel(context, opened, metadata);
      const sink = place
        ? new OrderedSink(this, form, id, place)
        : new DecoupledSink(this, form, id);
      const { signature } = form;
      const request = new InferenceRequest({ signature, id, inputBytes, sink, arrivalNs });
      this.#start(model, request, sink);
    } catch (thrown) {
      // A request that never got its model has a place too, behind those before it.
      const answer = answers.refusal(context.errorFrom(thrown, RPC_NAME), opened.id);
      this.settle(place ?? this.#takePlace(), answer);
    }
  }

  /** The client sends no more requests. */
  halfClose(): void {
    this.#isHalfClosed = true;
    this.#endWhenDone();
  }

  /** Nobody reads the answers any more: ends every request, writes nothing. */
  cancel(): void {
    this.#isOver = true;
    this.#ordered.length = 0;
    const requests = [...this.#requests];
    this.#requests.clear();
    this.#inflightBytes = 0;
    for (const request of requests) request.cancel();
  }

  /** Sends an answer that has no place in the order. */
  write(answer: T): void {
    if (!this.#isOver) this.#options.write(answer);
  }

  /** Fills a place; sends what may go now. */
  settle(place: OrderedAnswer<T>, answer: T): void {
    if (this.#isOver) return;
    place.answer = answer;
    while (this.#ordered[0]?.answer !== undefined) {
      const first = this.#ordered.shift();
      if (first?.answer !== undefined) this.#options.write(first.answer);
    }
    this.#endWhenDone();
  }

  /** An error of an execution. @returns whether it ended the stream. */
  failsStream(error: InferenceError): boolean {
    if (!this.#options.isStrict || this.#isOver) return false;
    this.cancel();
    this.#options.end(error);
    return true;
  }

  /** A request has got its end. */
  forget(request: InferenceRequest | undefined): void {
    if (request && this.#requests.delete(request)) {
      this.#inflightBytes -= inputBytesOf(request);
      this.#options.onRequestEnd?.();
    }
    this.#endWhenDone();
  }

  #start(model: Model, request: InferenceRequest, sink: StreamSink<T>): void {
    sink.request = request;
    this.#options.context.dataPlane.infer(model, request);
    // Its end comes later, never from inside `infer`.
    this.#requests.add(request);
    this.#inflightBytes += inputBytesOf(request);
  }

  #takePlace(): OrderedAnswer<T> {
    const place: OrderedAnswer<T> = { answer: undefined };
    this.#ordered.push(place);
    return place;
  }

  #endWhenDone(): void {
    if (this.#isOver || !this.#isHalfClosed) return;
    if (this.#requests.size > 0 || this.#ordered.length > 0) return;
    this.#isOver = true;
    this.#options.end();
  }
}

function inputBytesOf({ inputBytes }: InferenceRequest): number {
  let sum = 0;
  for (const bytes of inputBytes) sum += bytes.length;
  return sum;
}

/** Turns the responses of one request into answers of its stream. */
abstract class StreamSink<T> implements ResponseSink {
  request: InferenceRequest | undefined = undefined;
  protected readonly session: StreamInferSession<T>;
  protected readonly form: InferRequestForm;
  protected readonly id: string;

  constructor(session: StreamInferSession<T>, form: InferRequestForm, id: string) {
    this.session = session;
    this.form = form;
    this.id = id;
  }

  abstract onResponse(response: InferenceResponse, isFinal: boolean): void;
  abstract onError(error: InferenceError, isFinal: boolean): void;
  abstract onComplete(): void;

  protected get answers(): StreamAnswers<T> {
    return this.session.options.answers;
  }
}

/** A request of an ordinary model: exactly one answer, at its place. */
class OrderedSink<T> extends StreamSink<T> {
  readonly #place: OrderedAnswer<T>;
  #answer: T | undefined;
  #responseCount = 0;

  constructor(
    session: StreamInferSession<T>,
    form: InferRequestForm,
    id: string,
    place: OrderedAnswer<T>,
  ) {
    super(session, form, id);
    this.#place = place;
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    this.#responseCount++;
    try {
      // The one answer is the last one, also where the model says so only afterwards.
      this.#answer ??= this.answers.response(response, this.form, true);
    } catch (thrown) {
      const error = this.session.options.context.errorFrom(thrown, RPC_NAME);
      this.#answer = this.answers.failure(error, this.form, this.id, true);
    }
    if (isFinal) this.onComplete();
  }

  onError(error: InferenceError): void {
    if (!this.session.failsStream(error)) {
      this.#settle(this.answers.failure(error, this.form, this.id, true));
    }
  }

  onComplete(): void {
    if (this.#answer !== undefined && this.#responseCount === 1) this.#settle(this.#answer);
    else this.onError(wrongResponseCount(this.#responseCount));
  }

  #settle(answer: T): void {
    // A request has one place; an error after the answer changes nothing any more.
    if (this.#place.answer === undefined) this.session.settle(this.#place, answer);
    this.session.forget(this.request);
  }
}

/** A request of a decoupled model: any number of answers, each as it comes. */
class DecoupledSink<T> extends StreamSink<T> {
  onResponse(response: InferenceResponse, isFinal: boolean): void {
    try {
      this.session.write(this.answers.response(response, this.form, isFinal));
    } catch (thrown) {
      const error = this.session.options.context.errorFrom(thrown, RPC_NAME);
      this.session.write(this.answers.failure(error, this.form, this.id, isFinal));
    }
    if (isFinal) this.session.forget(this.request);
  }

  onError(error: InferenceError, isFinal: boolean): void {
    if (this.session.failsStream(error)) return;
    this.session.write(this.answers.failure(error, this.form, this.id, isFinal));
    if (isFinal) this.session.forget(this.request);
  }

  onComplete(): void {
    if (this.form.wantsEmptyFinalResponse) {
      this.session.write(this.answers.emptyFinal(this.form, this.id));
    }
    this.session.forget(this.request);
  }
}
