import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { SequenceBatching } from "../config/sequence-batching.ts";
import type { ExecutionResult } from "../instance/model-instance.ts";
import type { Batch, BatchExtras, ExtraInput } from "../request/batch.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import { SEQUENCE_START } from "../request/request-signature.ts";
import { paddingRequest } from "./padding-request.ts";
import type { Sequence } from "./sequence.ts";
import { SequenceControls } from "./sequence-controls.ts";
import { SequenceStates } from "./sequence-states.ts";

/** Makes batches of the oldest waiting requests of sequences, with the tensors that sequences add. */
export class SequenceBatchMaker {
  readonly #controls: SequenceControls;
  readonly #states: SequenceStates;
  readonly #hasExtras: boolean;

  /** @param inputCount inputs that clients know; the controls come behind them. */
  constructor(batching: SequenceBatching, signature: ExecutionSignature, inputCount: number) {
    const { controls, states } = batching;
    this.#controls = new SequenceControls(controls, inputCount, signature.maxBatchSize > 0);
    this.#states = new SequenceStates(states, signature);
    this.#hasExtras = controls.length + states.length > 0;
  }

  /** {@link Sequence.stateKey} of a sequence that starts. */
  get initialStateKey(): string {
    return this.#states.initialKey;
  }

  /**
   * Takes the oldest waiting request of each sequence, which then is its running one.
   * @param rows undefined for a row that is padding; at least one is a sequence.
   */
  make(rows: readonly (Sequence | undefined)[], nowNs: number): Batch {
    const taken = rows.map((sequence) => take(sequence, nowNs));
    const [model] = taken.filter((request) => request !== undefined);
    if (model === undefined) throw new RangeError("a batch of sequences without a request");
    const padding = taken.includes(undefined) ? paddingRequest(model) : model;
    const requests = taken.map((request) => request ?? padding);
    if (!this.#hasExtras) return { requests, rowCount: requests.length };
    return { requests, rowCount: requests.length, extras: this.#extras(rows, requests) };
  }

  /** Keeps the states that the batch left. */
  save(rows: readonly (Sequence | undefined)[], result: ExecutionResult): void {
    this.#states.save(rows, result);
  }

  #extras(
    rows: readonly (Sequence | undefined)[],
    requests: readonly InferenceRequest[],
  ): BatchExtras {
    const inputs: ExtraInput[] = [];
    this.#controls.addTo(inputs, rows, requests);
    this.#states.addTo(inputs, rows);
    return { inputs, outputIndexes: this.#states.outputIndexes };
  }
}

function take(sequence: Sequence | undefined, nowNs: number): InferenceRequest | undefined {
  const request = sequence?.take();
  if (sequence === undefined || request === undefined) return undefined;
  sequence.running = request;
  if ((request.sequenceFlags & SEQUENCE_START) !== 0) sequence.resetStates();
  request.computeStartNs = nowNs;
  return request;
}
