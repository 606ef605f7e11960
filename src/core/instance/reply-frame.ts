import { DATATYPES, type Datatype } from "../../base/datatype.ts";
import { type ErrorCode, type FailureReason, InferenceError } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type { Slab } from "../memory/slab.ts";
import { NO_PARAMETERS, type Parameters } from "../request/request-signature.ts";
import { datatypeAt, numbersAt, wordAt } from "./batch-frame.ts";
import type { ExecutionResult, JoinedOutput } from "./model-instance.ts";
import type { OutputArea } from "./output-area.ts";
import { ParameterReader, ParameterWriter } from "./parameter-text.ts";

/*
 * A reply frame lies in an output area, behind the tensors it describes; words 0 and 1 of the area's first slab tell
 * its slab and offset. In Float64 words:
 *
 *   word 0      frame version
 *   word 1      1 = the whole batch failed (its error is an error record of request −1)
 *   words 2-4   outputs, error records, parameter records
 *   words 5-7   ns spent on inputs, on inference, on outputs
 *   word 8      bytes from the frame's begin to its text area
 *   word 9      0
 *   then        for each output: request (−1 = all requests, joined), index, datatype code, slab, offset in bytes,
 *               length in bytes, rank, dims
 *   then        for each error: request (−1 = all), code, reason, offset in the text area, length in bytes
 *   then        for each set of response parameters: request (−1 = all that have none of their own), offset, length
 *   then        the text area, UTF-8
 *
 * A later kind of host may name a request in an output: its own output instead of its rows of a joined one.
 */

/** Version of the layout above; the main thread refuses another one. */
export const REPLY_FRAME_VERSION = 1;

/** Stands for all requests of a batch. */
export const ALL_REQUESTS = -1;

const HEAD_WORDS = 10;
const OUTPUT_WORDS = 7;
const ERROR_WORDS = 5;
const PARAMETER_WORDS = 3;

const CODES: readonly ErrorCode[] = [
  "INVALID_ARG",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "UNAVAILABLE",
  "UNSUPPORTED",
  "CANCELLED",
  "INTERNAL",
  "UNKNOWN",
];
const REASONS: readonly FailureReason[] = ["REJECTED", "CANCELED", "BACKEND", "OTHER"];

/** An output as it lies in an output area. */
export interface ReplyOutput {
  readonly index: number;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly slabIndex: number;
  readonly offsetBytes: number;
  readonly byteLength: number;
}

/** What a host answers to one batch. */
export interface Reply {
  readonly outputs: readonly ReplyOutput[];
  /** By request; {@link ALL_REQUESTS} when the whole batch failed. */
  readonly errors: ReadonlyMap<number, InferenceError>;
  /** By request; {@link ALL_REQUESTS} for all that have none of their own. */
  readonly parameters: ReadonlyMap<number, Parameters>;
  readonly computeInputNs: number;
  readonly computeInferNs: number;
  readonly computeOutputNs: number;
}

const encoder = new TextEncoder();

/** Writes reply frames. One per host: it remembers the text of parameters that come again and again. */
export class ReplyFrameWriter {
  readonly #parameterWriter = new ParameterWriter();

  /** Writes the frame behind the tensors and publishes the area. @throws Error when there is no memory for it. */
  write(area: OutputArea, reply: Reply): void {
    const texts = this.#textsOf(reply);
    const wordCount = wordCountOf(reply);
    let textBytes = 0;
    for (const text of texts) textBytes += text.length;
    const room = area.allocate(wordCount * 8 + textBytes);
    const { words, bytes } = room.slab;
    const start = room.offsetBytes / 8;
    writeHead(words, start, reply, wordCount);
    const at = writeOutputs(words, start + HEAD_WORDS, reply);
    if (texts.length > 0) writeTextPlaces(words, at, reply, texts);
    let textOffset = room.offsetBytes + wordCount * 8;
    for (const text of texts) {
      bytes.set(text, textOffset);
      textOffset += text.length;
    }
    area.publish(room);
  }

  #textsOf({ errors, parameters }: Reply): readonly Uint8Array[] {
    if (errors.size === 0 && parameters.size === 0) return NO_TEXTS;
    const texts: Uint8Array[] = [];
    for (const error of errors.values()) texts.push(encoder.encode(error.message));
    for (const one of parameters.values()) texts.push(this.#parameterWriter.encode(one));
    return texts;
  }
}

const NO_TEXTS: readonly Uint8Array[] = [];

function wordCountOf({ outputs, errors, parameters }: Reply): number {
  let count = HEAD_WORDS + errors.size * ERROR_WORDS + parameters.size * PARAMETER_WORDS;
  for (const output of outputs) count += OUTPUT_WORDS + output.shape.length;
  return count;
}

function writeHead(words: Float64Array, start: number, reply: Reply, wordCount: number): void {
  words[start] = REPLY_FRAME_VERSION;
  words[start + 1] = reply.errors.has(ALL_REQUESTS) ? 1 : 0;
  words[start + 2] = reply.outputs.length;
  words[start + 3] = reply.errors.size;
  words[start + 4] = reply.parameters.size;
  words[start + 5] = reply.computeInputNs;
  words[start + 6] = reply.computeInferNs;
  words[start + 7] = reply.computeOutputNs;
  words[start + 8] = wordCount * 8;
  words[start + 9] = 0;
}

/** @returns the next free word. */
function writeOutputs(words: Float64Array, start: number, { outputs }: Reply): number {
  let at = start;
  for (const output of outputs) {
    words[at] = ALL_REQUESTS;
    words[at + 1] = output.index;
    words[at + 2] = DATATYPES[output.datatype].code;
    words[at + 3] = output.slabIndex;
    words[at + 4] = output.offsetBytes;
    words[at + 5] = output.byteLength;
    words[at + 6] = output.shape.length;
    at += OUTPUT_WORDS;
    for (const dim of output.shape) words[at++] = dim;
  }
  return at;
}

/** Errors and parameters: whose they are, and where their texts lie behind the words. */
function writeTextPlaces(
  words: Float64Array,
  start: number,
  { errors, parameters }: Reply,
  texts: readonly Uint8Array[],
): void {
  let at = start;
  let textOffset = 0;
  let textIndex = 0;
  const nextText = (): void => {
    const byteLength = texts[textIndex++]?.length ?? 0;
    words[at++] = textOffset;
    words[at++] = byteLength;
    textOffset += byteLength;
  };
  for (const [request, error] of errors) {
    words[at++] = request;
    words[at++] = CODES.indexOf(error.code);
    words[at++] = REASONS.indexOf(error.reason);
    nextText();
  }
  for (const request of parameters.keys()) {
    words[at++] = request;
    nextText();
  }
}

const NO_TEXT = new Uint8Array(0);
const NO_ERRORS: ReadonlyMap<number, InferenceError> = new Map();
const NO_REQUEST_PARAMETERS: ReadonlyMap<number, Parameters> = new Map();
const decoder = new TextDecoder();

/** Reads reply frames. One per instance: it hands out the same object for parameters that come again and again. */
export class ReplyFrameReader {
  readonly #parameterReader = new ParameterReader();

  /**
   * @param slabs the area's slabs in order, as last announced.
   * @throws Error when the frame is of another version or points outside the slabs.
   */
  read(slabs: readonly Slab[]): ExecutionResult {
    const head = slabs[0]?.words;
    const slab = slabs[head === undefined ? -1 : wordAt(head, 0)];
    if (head === undefined || slab === undefined) throw new Error("a reply without an output slab");
    const frameOffset = wordAt(head, 1);
    const words = slab.words;
    const start = frameOffset / 8;
    const version = wordAt(words, start);
    if (version !== REPLY_FRAME_VERSION) {
      throw new Error(
        `reply frame has version ${version}, this server reads ${REPLY_FRAME_VERSION}`,
      );
    }
    const outputs: JoinedOutput[] = [];
    let at = start + HEAD_WORDS;
    for (let i = wordAt(words, start + 2); i > 0; i--) {
      const rank = wordAt(words, at + 6);
      outputs.push(outputAt(words, at, rank, slabs));
      at += OUTPUT_WORDS + rank;
    }
    const errorCount = wordAt(words, start + 3);
    const parameterCount = wordAt(words, start + 4);
    const text =
      errorCount + parameterCount === 0
        ? NO_TEXT
        : slab.bytes.subarray(frameOffset + wordAt(words, start + 8));
    const requestErrors = errorCount === 0 ? NO_ERRORS : errorsAt(words, at, errorCount, text);
    at += errorCount * ERROR_WORDS;
    const parameters = this.#parametersAt(words, at, parameterCount, text);
    return {
      error: wordAt(words, start + 1) === 1 ? requestErrors.get(ALL_REQUESTS) : undefined,
      outputs,
      requestErrors,
      sharedParameters: parameters.get(ALL_REQUESTS) ?? NO_PARAMETERS,
      requestParameters: parameters,
      computeInputNs: wordAt(words, start + 5),
      computeInferNs: wordAt(words, start + 6),
      computeOutputNs: wordAt(words, start + 7),
    };
  }

  #parametersAt(
    words: Float64Array,
    start: number,
    count: number,
    text: Uint8Array,
  ): ReadonlyMap<number, Parameters> {
    if (count === 0) return NO_REQUEST_PARAMETERS;
    const parameters = new Map<number, Parameters>();
    for (let at = start; at < start + count * PARAMETER_WORDS; at += PARAMETER_WORDS) {
      const offset = wordAt(words, at + 1);
      const encoded = text.subarray(offset, offset + wordAt(words, at + 2));
      parameters.set(wordAt(words, at), this.#parameterReader.decode(encoded));
    }
    return parameters;
  }
}

function outputAt(
  words: Float64Array,
  at: number,
  rank: number,
  slabs: readonly Slab[],
): JoinedOutput {
  const slab = slabs[wordAt(words, at + 3)];
  const offset = wordAt(words, at + 4);
  const byteLength = wordAt(words, at + 5);
  if (slab === undefined || offset + byteLength > slab.byteLength) {
    throw new Error(
      `a reply's output ends at byte ${offset + byteLength} of ${slab?.byteLength ?? 0}`,
    );
  }
  return {
    index: wordAt(words, at + 1),
    datatype: datatypeAt(words, at + 2),
    shape: numbersAt(words, at + OUTPUT_WORDS, rank),
    bytes: new Uint8Array(slab.bytes.buffer, offset, byteLength),
  };
}

function errorsAt(
  words: Float64Array,
  start: number,
  count: number,
  text: Uint8Array,
): ReadonlyMap<number, InferenceError> {
  const errors = new Map<number, InferenceError>();
  for (let at = start; at < start + count * ERROR_WORDS; at += ERROR_WORDS) {
    const offset = wordAt(words, at + 3);
    const message = decoder.decode(text.subarray(offset, offset + wordAt(words, at + 4)));
    const code = CODES[wordAt(words, at + 1)] ?? "INTERNAL";
    const reason = REASONS[wordAt(words, at + 2)] ?? "OTHER";
    errors.set(wordAt(words, at), new InferenceError(code, message, { reason }));
  }
  return errors;
}
