import { InferenceError } from "../../../base/error.ts";
import { STREAM_FRAMES } from "../codec/stream-answers.ts";
import { STRICT_ERROR_KEY, slowReaderError } from "../stream-infer.ts";
import { StreamInferSession } from "../stream-infer-session.ts";
import { callStatusFrom, STATUS_OK } from "./call-status.ts";
import { type CallStart, Http2Call, PAUSE } from "./http2-call.ts";

/** Unread bytes above which no further request is taken from the client. */
const ENOUGH_UNREAD_BYTES = 1024 * 1024;
/** Unread bytes at which the stream is given up: a decoupled model sends on, whatever its reader does. */
const MAX_UNREAD_BYTES = 1024 * 1024 * 1024;
/** Input bytes of requests in flight above which no further request is taken from the client. */
const ENOUGH_INFLIGHT_BYTES = 64 * 1024 * 1024;

const SERVER_EXITING = callStatusFrom(new InferenceError("UNAVAILABLE", "Server exiting"));

/** ModelStreamInfer on the hot path. */
export class StreamInferCall extends Http2Call {
  protected readonly rpcName = "ModelStreamInfer";
  readonly #session: StreamInferSession<Buffer>;
  #isDraining = false;

  constructor(start: CallStart) {
    super(start);
    this.#session = new StreamInferSession({
      context: this.context,
      answers: STREAM_FRAMES,
      metadata: this.metadata,
      isStrict: start.headers[STRICT_ERROR_KEY] === "true",
      write: (frame) => this.#write(frame),
      end: (error) => this.finish(error ? callStatusFrom(error) : STATUS_OK),
      onRequestEnd: () => {
        if (this.#session.inflightBytes <= ENOUGH_INFLIGHT_BYTES) this.resumeFor(PAUSE.inflight);
        if (this.#isDraining) this.drain();
      },
    });
    start.stream.on("drain", () => this.resumeFor(PAUSE.reader));
  }

  onMessage(message: Buffer): void {
    if (this.isOver) return;
    this.#session.submit(this.context.decoder.open(message));
    // From here the bound on the stream's own bytes in flight counts it.
    this.releaseBytes();
    if (this.#session.inflightBytes > ENOUGH_INFLIGHT_BYTES) this.pauseFor(PAUSE.inflight);
  }

  /** The server stops: ends the stream as soon as nothing is in flight on it. */
  drain(): void {
    this.#isDraining = true;
    if (this.#session.inflightCount === 0) this.fail(SERVER_EXITING);
  }

  protected onHalfClose(): void {
    this.#session.halfClose();
  }

  protected onCancel(): void {
    this.#session.cancel();
  }

  #write(frame: Buffer): void {
    if (this.send(frame)) return;
    const unreadBytes = this.stream.writableLength;
    if (unreadBytes > MAX_UNREAD_BYTES) {
      this.fail(callStatusFrom(slowReaderError(MAX_UNREAD_BYTES, "bytes")));
    } else if (unreadBytes > ENOUGH_UNREAD_BYTES) this.pauseFor(PAUSE.reader);
  }
}
