import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { InferenceError } from "../../../base/error.ts";
import { GRPC_STATUS } from "../../status.ts";
import type { GrpcContext } from "../grpc-context.ts";
import type { CallMetadata } from "../infer.ts";
import type { ByteBudget, ByteHolder } from "./byte-budget.ts";
import {
  type CallStatus,
  callStatusFrom,
  RESPONSE_HEADERS,
  refuseCall,
  STATUS_OK,
  sendTrailers,
} from "./call-status.ts";
import {
  MessageAssembler,
  type MessageReceiver,
  MessageTooLongError,
} from "./message-assembler.ts";

/** What a call is made with. */
export interface CallStart {
  readonly context: GrpcContext;
  readonly budget: ByteBudget;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Time the client gives the call; undefined = for ever. */
  readonly timeoutMs: number | undefined;
}

/** Why a call takes nothing in just now; bits, since there may be several reasons at once. */
export const PAUSE = { budget: 1, reader: 2, inflight: 4 } as const;

/** Frames above this go out in slices, each when the one before has left: half the CPU and less memory at 64 MiB. */
const SLICE_BYTES = 64 * 1024;
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false } as const;

/**
 * One gRPC call on a stream of node:http2, without ConnectRPC between: takes the body apart into messages, sends
 * frames, trailers and statuses, watches deadline and cancellation. What the messages mean is for the subclasses.
 *
 * Whatever a client sends, nothing is thrown into the HTTP/2 library: faults end the call with their status.
 */
export abstract class Http2Call implements MessageReceiver, ByteHolder {
  protected readonly context: GrpcContext;
  protected readonly stream: ServerHttp2Stream;
  readonly #start: CallStart;
  readonly #assembler: MessageAssembler;
  #deadlineTimer: Timer | undefined;
  #status = STATUS_OK;
  /** The call has got its status, or its client has gone: nothing is sent or taken any more. */
  #isOver = false;
  #pauseReasons = 0;
  #holdsBytes = false;
  /** Received and sent, while a long message is under way; NaN between its receipt and its answer. */
  #movedBytes = 0;
  /** The rest of a frame that is being sent in slices. */
  #unsent: Buffer | undefined;

  constructor(start: CallStart) {
    this.#start = start;
    this.context = start.context;
    this.stream = start.stream;
    this.#assembler = new MessageAssembler(this, start.context.maxReceiveBytes);
    const { stream, timeoutMs } = start;
    stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    stream.on("end", () => this.#onEnd());
    stream.on("close", () => this.#onClose());
    if (timeoutMs !== undefined) {
      this.#deadlineTimer = setTimeout(() => this.fail(DEADLINE_EXCEEDED), timeoutMs);
    }
  }

  /** For the log. */
  protected abstract readonly rpcName: string;
  abstract onMessage(message: Buffer): void;
  /** The client has sent all its messages, whole. */
  protected abstract onHalfClose(): void;
  /** Nobody waits for answers any more: the client has gone, its deadline has passed, or the call has failed. */
  protected abstract onCancel(): void;

  protected get isOver(): boolean {
    return this.#isOver;
  }

  get movedBytes(): number {
    return this.#movedBytes + this.stream.writableLength;
  }

  /** Metadata of the call, for forwarding. */
  protected readonly metadata = (): CallMetadata =>
    Object.entries(this.#start.headers).map(([name, value]) => [name, String(value)]);

  onLongMessage(messageBytes: number): void {
    this.#holdsBytes = true;
    this.#movedBytes = 0;
    if (!this.#start.budget.reserve(this, messageBytes)) this.pauseFor(PAUSE.budget);
  }

  onReserved(): void {
    this.resumeFor(PAUSE.budget);
  }

  onStalled(): void {
    this.fail({
      code: GRPC_STATUS.resourceExhausted,
      message: "the call stood still while others waited for its memory",
    });
    // A client that reads nothing does not read the status either.
    if (!this.stream.destroyed) this.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** Takes nothing in until {@link resumeFor} with the same reason; flow control holds the client back. */
  protected pauseFor(reason: number): void {
    this.#pauseReasons |= reason;
    this.stream.pause();
  }

  protected resumeFor(reason: number): void {
    if ((this.#pauseReasons & reason) === 0) return;
    this.#pauseReasons &= ~reason;
    if (this.#pauseReasons === 0) this.stream.resume();
  }

  /** The messages received so far are counted elsewhere, or have gone. */
  protected releaseBytes(): void {
    if (!this.#holdsBytes) return;
    this.#holdsBytes = false;
    this.#start.budget.release(this);
  }

  /** Ends the call with its one message. @param frame owned by the call from here. */
  protected finishWith(frame: Buffer): void {
    if (this.#isOver) return;
    this.#end();
    const { stream } = this;
    // A connection that is being ended has answered already.
    if (stream.destroyed || stream.closed || stream.headersSent) return;
    stream.on("wantTrailers", sendOkTrailers);
    stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
    if (frame.length <= SLICE_BYTES) stream.end(frame);
    else this.#sendInSlices(frame);
  }

  /** Sends one of several messages. @returns false when the client reads too slowly; "drain" of the stream tells more. */
  protected send(frame: Buffer): boolean {
    const { stream } = this;
    if (this.#isOver || stream.destroyed || stream.closed) return true;
    if (!stream.headersSent) {
      stream.on("wantTrailers", () => sendTrailers(stream, this.#status));
      stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
    }
    return stream.write(frame);
  }

  /** Ends the call after its messages, if any. */
  protected finish(status: CallStatus): void {
    if (this.#isOver) return;
    this.#end();
    this.#status = status;
    const { stream } = this;
    if (!stream.headersSent) refuseCall(stream, status);
    else if (!stream.destroyed && !stream.closed) stream.end();
  }

  /** Ends the call with an error, and whatever still runs for it. */
  protected fail(status: CallStatus): void {
    if (this.#isOver) return;
    this.finish(status);
    this.onCancel();
  }

  #sendInSlices(frame: Buffer): void {
    this.#holdsBytes = true;
    this.#movedBytes = 0;
    this.#start.budget.add(this, frame.length);
    this.#unsent = frame;
    this.stream.on("drain", () => this.#sendSlices());
    this.#sendSlices();
  }

  #sendSlices(): void {
    const { stream } = this;
    while (this.#unsent && !stream.destroyed) {
      const slice = this.#unsent.subarray(0, SLICE_BYTES);
      this.#movedBytes += slice.length;
      if (slice.length === this.#unsent.length) {
        this.#unsent = undefined;
        stream.end(slice);
        return;
      }
      this.#unsent = this.#unsent.subarray(SLICE_BYTES);
      if (!stream.write(slice)) return;
    }
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#movedBytes += chunk.length;
    try {
      this.#assembler.feed(chunk);
    } catch (thrown) {
      this.#refuse(thrown);
    }
    if (!this.#assembler.isIncomplete) this.#movedBytes = Number.NaN;
  }

  #onEnd(): void {
    if (this.#isOver) return;
    try {
      if (this.#assembler.isIncomplete) {
        throw new InferenceError("INVALID_ARG", "the request ended in the middle of a message");
      }
      this.onHalfClose();
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  #refuse(thrown: unknown): void {
    const status = callStatusFrom(this.context.errorFrom(thrown, this.rpcName));
    const isTooLong = thrown instanceof MessageTooLongError;
    this.fail(isTooLong ? { ...status, code: GRPC_STATUS.resourceExhausted } : status);
  }

  #onClose(): void {
    const wasOver = this.#isOver;
    this.#end();
    this.#unsent = undefined;
    this.releaseBytes();
    if (!wasOver) this.onCancel();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#deadlineTimer);
    this.#deadlineTimer = undefined;
  }
}

const DEADLINE_EXCEEDED: CallStatus = {
  code: GRPC_STATUS.deadlineExceeded,
  message: "Deadline Exceeded",
};

function sendOkTrailers(this: ServerHttp2Stream): void {
  sendTrailers(this, STATUS_OK);
}
