import type { HandlerContext } from "@connectrpc/connect";
import type {
  ModelInferRequest,
  ModelStreamInferResponse,
} from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../base/error.ts";
import { STREAM_MESSAGES } from "./codec/stream-answers.ts";
import type { GrpcContext } from "./grpc-context.ts";
import { StreamInferSession } from "./stream-infer-session.ts";

/** Metadata key of the strict error mode. */
export const STRICT_ERROR_KEY = "triton_grpc_error";

/** Unread answers above which no further request is taken from the client. */
const ENOUGH_UNREAD_ANSWERS = 64;
/** Unread answers at which the stream is given up: a decoupled model sends on, whatever its reader does. */
const MAX_UNREAD_ANSWERS = 100_000;

/** Why a stream whose reader does not keep up is ended. */
export function slowReaderError(unreadCount: number, unit: string): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    `the stream's reader is too slow: more than ${unreadCount} ${unit} wait to be read`,
  );
}

/** Answers on their way from the models to a reader who may be slow. */
class AnswerQueue {
  readonly #answers: ModelStreamInferResponse[] = [];
  #error: unknown;
  #isEnded = false;
  #onChange: (() => void) | undefined;

  get unreadCount(): number {
    return this.#answers.length;
  }

  push(answer: ModelStreamInferResponse): void {
    this.#answers.push(answer);
    this.#wake();
  }

  /** @param error is thrown to the reader, after the answers before it. */
  end(error?: unknown): void {
    this.#isEnded = true;
    this.#error = error;
    this.#wake();
  }

  /** Answers until the end. */
  async *drain(): AsyncGenerator<ModelStreamInferResponse> {
    while (true) {
      const answer = this.#answers.shift();
      if (answer) yield answer;
      else if (this.#error) throw this.#error;
      else if (this.#isEnded) return;
      else await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }

  #wake(): void {
    this.#onChange?.();
    this.#onChange = undefined;
  }
}

/** Hands the client's requests to the session, as fast as the client reads its answers. */
async function takeRequests(
  context: GrpcContext,
  requests: AsyncIterable<ModelInferRequest>,
  session: StreamInferSession<ModelStreamInferResponse>,
  room: () => Promise<void>,
): Promise<void> {
  for await (const message of requests) {
    if (session.isOver) return;
    session.submit(context.decoder.openMessage(message));
    await room();
  }
  session.halfClose();
}

/** ModelStreamInfer by ConnectRPC. */
export function modelStreamInfer(context: GrpcContext) {
  return async function* answersTo(
    requests: AsyncIterable<ModelInferRequest>,
    { signal, requestHeader }: HandlerContext,
  ): AsyncGenerator<ModelStreamInferResponse> {
    const queue = new AnswerQueue();
    const session: StreamInferSession<ModelStreamInferResponse> = new StreamInferSession({
      context,
      answers: STREAM_MESSAGES,
      metadata: () => requestHeader,
      isStrict: requestHeader.get(STRICT_ERROR_KEY) === "true",
      write: (answer) => {
        if (queue.unreadCount < MAX_UNREAD_ANSWERS) queue.push(answer);
        else giveUp(slowReaderError(MAX_UNREAD_ANSWERS, "answers"));
      },
      end: (error) => queue.end(error),
    });
    let onRead: (() => void) | undefined;
    const room = async () => {
      while (queue.unreadCount > ENOUGH_UNREAD_ANSWERS && !session.isOver) {
        await new Promise<void>((resolve) => {
          onRead = resolve;
        });
      }
    };
    const giveUp = (error?: unknown) => {
      session.cancel();
      queue.end(error);
      onRead?.();
    };
    // ConnectRPC gives a deadline and a client that went away as reasons, each with its status.
    const cancel = () => giveUp(signal.reason);
    signal.addEventListener("abort", cancel);
    // A broken request stream ends the answers; a client that went away reads neither.
    takeRequests(context, requests, session, room).catch(giveUp);
    try {
      for await (const answer of queue.drain()) {
        onRead?.();
        yield answer;
      }
    } finally {
      signal.removeEventListener("abort", cancel);
      cancel();
    }
  };
}
