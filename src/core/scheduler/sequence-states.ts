import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { SequenceState } from "../config/sequence-batching.ts";
import type { ExecutionResult, JoinedOutput } from "../instance/model-instance.ts";
import type { ExtraInput } from "../request/batch.ts";
import { cutRows, rowCutter } from "./row-cutter.ts";
import type { Sequence, StateTensor } from "./sequence.ts";

/**
 * Keeps the implicit states of sequences: what a request left in a state's output is the state's input of the next
 * request. Input and output of a sequence share one buffer as long as the size stays, so
 * `use_same_buffer_for_input_output` changes nothing.
 */
export class SequenceStates {
  /** Outputs that hold states, by the state's index; indexes into the execution signature. */
  readonly outputIndexes: readonly number[];
  /** {@link Sequence.stateKey} of a sequence that starts. */
  readonly initialKey: string;
  readonly #states: readonly SequenceState[];
  readonly #initial: readonly StateTensor[];
  readonly #inputIndexes: readonly number[];
  readonly #isBatching: boolean;
  readonly #hasFreeDims: boolean;

  constructor(states: readonly SequenceState[], signature: ExecutionSignature) {
    this.#states = states;
    this.#isBatching = signature.maxBatchSize > 0;
    const indexOf = (tensors: ExecutionSignature["inputs"], wanted: string) =>
      tensors.findLastIndex(({ name }) => name === wanted);
    this.#inputIndexes = states.map(({ inputName }) => indexOf(signature.inputs, inputName));
    this.outputIndexes = states.map(({ outputName }) => indexOf(signature.outputs, outputName));
    this.#hasFreeDims = this.#isBatching && states.some(({ dims }) => dims.includes(-1));
    this.#initial = states.map(({ initialShape, initialBytes }) => ({
      shape: initialShape,
      bytes: initialBytes,
    }));
    this.initialKey = this.#keyOf(this.#initial);
  }

  /** @param rows undefined for padding, which gets what the first sequence has: its shape is right. */
  addTo(inputs: ExtraInput[], rows: readonly (Sequence | undefined)[]): void {
    const first = rows.find((row) => row !== undefined);
    for (const [i, index] of this.#inputIndexes.entries()) {
      const bytes = rows.map((row) => this.#stateOf(row ?? first, i).bytes);
      const { shape } = this.#stateOf(first, i);
      inputs.push({ index, shape: this.#isBatching ? [1, ...shape] : shape, bytes });
    }
  }

  /** Copies the states out of the outputs of a batch. Requests that failed leave theirs as it was. */
  save(rows: readonly (Sequence | undefined)[], result: ExecutionResult): void {
    if (this.#states.length === 0 || result.error !== undefined) return;
    for (const [i, index] of this.outputIndexes.entries()) {
      const output = result.outputs.find((one) => one.index === index);
      if (output !== undefined) this.#saveOutput(i, output, rows, result);
    }
    if (!this.#hasFreeDims) return;
    for (const sequence of rows) {
      if (sequence !== undefined) sequence.stateKey = this.#keyOf(sequence.states ?? this.#initial);
    }
  }

  #stateOf(sequence: Sequence | undefined, i: number): StateTensor {
    return sequence?.states?.[i] ?? this.#initial[i] ?? NO_STATE;
  }

  #saveOutput(
    i: number,
    output: JoinedOutput,
    rows: readonly (Sequence | undefined)[],
    result: ExecutionResult,
  ): void {
    const isWhole = !this.#isBatching || rows.length === 1;
    if (!isWhole && output.shape[0] !== rows.length) return;
    const cutter = rowCutter(output, isWhole);
    for (const [row, sequence] of rows.entries()) {
      const { shape, bytes } = cutRows(cutter, 1);
      if (sequence === undefined || result.requestErrors.has(row)) continue;
      sequence.states ??= [];
      const last = sequence.states[i]?.bytes;
      const own = last?.length === bytes.length ? last : new Uint8Array(bytes.length);
      own.set(bytes);
      sequence.states[i] = { shape: this.#isBatching ? shape.slice(1) : shape, bytes: own };
    }
  }

  #keyOf(states: readonly (StateTensor | undefined)[]): string {
    if (!this.#hasFreeDims) return "";
    return states.map((state) => state?.shape.join(",") ?? "").join(";");
  }
}

const NO_STATE: StateTensor = { shape: [], bytes: new Uint8Array(0) };
