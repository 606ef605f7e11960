import { DATATYPES, type Datatype, datatypeFromCode } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";
import { alignedOffset, type Slab } from "../memory/slab.ts";
import type { Batch, BatchExtras } from "../request/batch.ts";

/*
 * A batch frame lies at the head of an input slab, in Float64 words; the tensors follow it in the same slab.
 *
 *   word 0      frame version
 *   word 1      requests
 *   word 2      rows, all requests together
 *   word 3      inputs
 *   word 4      wanted outputs
 *   word 5      words of the frame
 *   words 6-7   0; kept for what later kinds of hosts need of each request (ids, parameters, …)
 *   then        rows of each request
 *   then        wanted outputs, as indexes into `ExecutionSignature.outputs`, ascending
 *   then        for each input: index, datatype code, offset in bytes, length in bytes, rank, dims
 */

/** Version of the layout above; a host refuses another one. */
export const BATCH_FRAME_VERSION = 2;

const NO_EXTRA_INPUTS: BatchExtras["inputs"] = [];

const HEAD_WORDS = 8;
const INPUT_WORDS = 5;

/** Tensors begin here at the earliest, so that the same batch size finds them at the same address each time. */
const MIN_TENSOR_OFFSET_BYTES = 512;

/** Datatypes of the model's inputs, in execution order; what a batch itself does not say. */
export interface BatchFrameSignature {
  readonly inputs: readonly { readonly datatype: Datatype }[];
  readonly outputs: readonly unknown[];
  readonly maxBatchSize: number;
}

/** An input as it lies in a slab. */
export interface FrameTensor {
  readonly index: number;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly offsetBytes: number;
  readonly byteLength: number;
}

/** What a batch frame says. */
export interface BatchFrame {
  readonly rowCount: number;
  readonly requestRows: readonly number[];
  readonly wantedOutputs: readonly number[];
  readonly inputs: readonly FrameTensor[];
}

/**
 * Writes a batch into a slab: the frame, and each input's rows joined in request order. This is the one copy of input
 * bytes on the request path.
 *
 * @returns bytes that the batch needs. When that is more than the slab has, nothing of use was written: call again
 *   with a larger slab.
 */
export function writeBatchFrame(slab: Slab, batch: Batch, signature: BatchFrameSignature): number {
  const { requests } = batch;
  const first = requests[0]?.validated;
  if (first === undefined) return 0;
  const wantedOutputs = wantedOutputsOf(batch, signature.outputs.length);
  let headWords = HEAD_WORDS + requests.length + wantedOutputs.length;
  const extraInputs = batch.extras?.inputs ?? NO_EXTRA_INPUTS;
  let inputCount = extraInputs.length;
  for (const extra of extraInputs) headWords += INPUT_WORDS + extra.shape.length;
  for (let i = 0; i < signature.inputs.length; i++) {
    if ((first.inputOrder[i] ?? -1) < 0) continue;
    inputCount += 1;
    headWords += INPUT_WORDS + (first.backendShapes[i]?.length ?? 0);
  }
  let offset = Math.max(MIN_TENSOR_OFFSET_BYTES, alignedOffset(headWords * 8));
  if (offset > slab.byteLength) return offset + batchBytes(batch);

  const { words } = slab;
  words[0] = BATCH_FRAME_VERSION;
  words[1] = requests.length;
  words[2] = batch.rowCount;
  words[3] = inputCount;
  words[4] = wantedOutputs.length;
  words[5] = headWords;
  words[6] = words[7] = 0;
  let at = HEAD_WORDS;
  for (const request of requests) words[at++] = request.validated?.batchSize ?? 0;
  for (const output of wantedOutputs) words[at++] = output;
  for (let i = 0; i < signature.inputs.length; i++) {
    if ((first.inputOrder[i] ?? -1) < 0) continue;
    const end = copyRows(slab, batch, i, offset);
    if (end < 0) return offset + batchBytes(batch);
    at = writeInput(words, at, i, offset, end, signature);
    at = writeShape(words, at, first.backendShapes[i] ?? [], batch.rowCount, signature);
    offset = alignedOffset(end);
  }
  for (const extra of extraInputs) {
    const end = copyParts(slab, extra.bytes, offset);
    if (end < 0) return offset + batchBytes(batch);
    at = writeInput(words, at, extra.index, offset, end, signature);
    at = writeShape(words, at, extra.shape, batch.rowCount, signature);
    offset = alignedOffset(end);
  }
  return offset;
}

/** Index, datatype and place of an input. @returns the next free word, for its shape. */
function writeInput(
  words: Float64Array,
  at: number,
  index: number,
  startBytes: number,
  endBytes: number,
  signature: BatchFrameSignature,
): number {
  words[at] = index;
  words[at + 1] = DATATYPES[signature.inputs[index]?.datatype ?? "UINT8"].code;
  words[at + 2] = startBytes;
  words[at + 3] = endBytes - startBytes;
  return at + 4;
}

/** Parts one behind the other. @returns where they end; −1 = no room. */
function copyParts(slab: Slab, parts: readonly Uint8Array[], offsetBytes: number): number {
  let offset = offsetBytes;
  for (const bytes of parts) {
    if (offset + bytes.length > slab.byteLength) return -1;
    slab.bytes.set(bytes, offset);
    offset += bytes.length;
  }
  return offset;
}

/** The rows of all requests for one input, one behind the other. @returns where they end; −1 = no room. */
function copyRows(slab: Slab, batch: Batch, input: number, offsetBytes: number): number {
  let offset = offsetBytes;
  for (const request of batch.requests) {
    const bytes = request.inputBytes[request.validated?.inputOrder[input] ?? -1];
    if (bytes === undefined) continue;
    if (offset + bytes.length > slab.byteLength) return -1;
    slab.bytes.set(bytes, offset);
    offset += bytes.length;
  }
  return offset;
}

/** Rank and dims, the batch dimension replaced by that of the whole batch. @returns the next free word. */
function writeShape(
  words: Float64Array,
  start: number,
  shape: Shape,
  rowCount: number,
  signature: BatchFrameSignature,
): number {
  let at = start;
  words[at++] = shape.length;
  for (const dim of shape) words[at++] = dim;
  if (signature.maxBatchSize > 0 && shape.length > 0) words[start + 1] = rowCount;
  return at;
}

/** Room for every input of a batch, alignment included; an upper bound. */
function batchBytes(batch: Batch): number {
  let byteLength = 0;
  for (const request of batch.requests) {
    for (const bytes of request.inputBytes) byteLength += alignedOffset(bytes.length);
  }
  for (const extra of batch.extras?.inputs ?? NO_EXTRA_INPUTS) {
    for (const bytes of extra.bytes) byteLength += alignedOffset(bytes.length);
  }
  return byteLength;
}

/** Outputs that at least one request wants, ascending. */
function wantedOutputsOf(batch: Batch, outputCount: number): readonly number[] {
  const first = batch.requests[0]?.validated?.outputIndexes;
  if (first === undefined) return indexesBelow(outputCount);
  const wanted = new Set<number>(batch.extras?.outputIndexes);
  for (const request of batch.requests) {
    const indexes = request.validated?.outputIndexes;
    if (indexes === undefined) return indexesBelow(outputCount);
    for (const index of indexes) wanted.add(index);
  }
  return [...wanted].sort((a, b) => a - b);
}

const INDEXES: (readonly number[])[] = [];

/** 0, 1, … below a count; made once for each count. */
function indexesBelow(count: number): readonly number[] {
  let indexes = INDEXES[count];
  if (indexes === undefined) {
    indexes = Array.from({ length: count }, (_, index) => index);
    INDEXES[count] = indexes;
  }
  return indexes;
}

/**
 * Reads what {@link writeBatchFrame} wrote.
 * @throws Error when the frame is of another version or has an unknown datatype: two builds talk to each other.
 */
export function readBatchFrame(words: Float64Array): BatchFrame {
  const version = wordAt(words, 0);
  if (version !== BATCH_FRAME_VERSION) {
    throw new Error(`batch frame has version ${version}, this host reads ${BATCH_FRAME_VERSION}`);
  }
  const requestCount = wordAt(words, 1);
  const inputCount = wordAt(words, 3);
  const wantedCount = wordAt(words, 4);
  let at = HEAD_WORDS;
  const requestRows = numbersAt(words, at, requestCount);
  at += requestCount;
  const wantedOutputs = numbersAt(words, at, wantedCount);
  at += wantedCount;
  const inputs: FrameTensor[] = [];
  for (let i = 0; i < inputCount; i++) {
    const rank = wordAt(words, at + 4);
    inputs.push({
      index: wordAt(words, at),
      datatype: datatypeAt(words, at + 1),
      offsetBytes: wordAt(words, at + 2),
      byteLength: wordAt(words, at + 3),
      shape: numbersAt(words, at + INPUT_WORDS, rank),
    });
    at += INPUT_WORDS + rank;
  }
  return { rowCount: wordAt(words, 2), requestRows, wantedOutputs, inputs };
}

/** Words of the frame at the head of a slab, which was written by {@link writeBatchFrame}. */
export function frameWordCount(words: Float64Array): number {
  return wordAt(words, 5);
}

/** One word of a frame. */
export function wordAt(words: Float64Array, at: number): number {
  return words[at] ?? Number.NaN;
}

/** `count` words of a frame as plain numbers. */
export function numbersAt(words: Float64Array, at: number, count: number): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < count; i++) numbers.push(wordAt(words, at + i));
  return numbers;
}

/** The datatype whose code stands at a word. @throws Error for an unknown code. */
export function datatypeAt(words: Float64Array, at: number): Datatype {
  const code = wordAt(words, at);
  const datatype = datatypeFromCode(code);
  if (datatype === undefined) throw new Error(`frame word ${at} is no datatype code: ${code}`);
  return datatype;
}
