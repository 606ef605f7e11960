import type { Shape } from "../../base/shape.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import { SEQUENCE_START } from "../request/request-signature.ts";
import type { FormerRequest } from "./batch-former.ts";
import type { DeadlineEntry } from "./deadline-heap.ts";
import type { SequenceLane } from "./sequence-lane.ts";
import type { SequenceList } from "./sequence-list.ts";

/** A state of one sequence, as its last request left it. */
export interface StateTensor {
  /** Without the batch dimension. */
  readonly shape: Shape;
  /** Owned by the sequence. */
  readonly bytes: Uint8Array;
}

/** A place for one sequence on one instance. */
export interface SequenceSlot {
  readonly lane: SequenceLane;
  /** 0..; in the direct strategy also the row of the batch. */
  readonly number: number;
  sequence: Sequence | undefined;
}

/** Served requests at the head of a queue that are kept before it is made shorter. */
const MAX_SERVED_COUNT = 32;

/**
 * One sequence from its START to its end: its waiting requests, its slot, its states. Seen by the batch former as its
 * oldest waiting request.
 */
export class Sequence implements FormerRequest, DeadlineEntry {
  /** Under which further requests find it; undefined where none may come. */
  readonly key: bigint | string | undefined;
  readonly batchSize = 1;
  /** undefined while it waits in the backlog and after it has left its slot. */
  slot: SequenceSlot | undefined = undefined;
  running: InferenceRequest | undefined = undefined;
  /** The running request is to run again. */
  isRescheduled = false;
  /** Its END is among the waiting requests: nothing can follow. */
  isClosed = false;
  /** The sequence of the same id before this one, while that has waiting requests. */
  predecessor: Sequence | undefined = undefined;
  /** The sequence of the same id that starts when this one has left its slot. */
  successor: Sequence | undefined = undefined;
  /** It has left its slot for good. */
  isOver = false;
  /** When its oldest waiting request could run at the earliest, but for others. */
  readyNs = 0;
  /** When it became idle. */
  idleNs = 0;
  /** When it gives up waiting for a slot. */
  deadlineNs = Number.POSITIVE_INFINITY;
  heapIndex = -1;
  /** The list that it is in, and its neighbours there; owned by that list. */
  list: SequenceList | undefined = undefined;
  previous: Sequence | undefined = undefined;
  next: Sequence | undefined = undefined;
  /** The states by their index in the configuration; undefined = the initial ones. */
  states: (StateTensor | undefined)[] | undefined = undefined;
  /** Sequences with different keys cannot share a batch. */
  stateKey: string;
  /** The id as the model's control tensor has it; made when first asked for. */
  correlationBytes: Uint8Array | undefined = undefined;
  readonly #initialStateKey: string;
  #waiting: InferenceRequest[] = [];
  #servedCount = 0;

  constructor(key: bigint | string | undefined, initialStateKey: string) {
    this.key = key;
    this.stateKey = initialStateKey;
    this.#initialStateKey = initialStateKey;
  }

  get waitingCount(): number {
    return this.#waiting.length - this.#servedCount;
  }

  /** The oldest waiting request. */
  get head(): InferenceRequest | undefined {
    return this.#waiting[this.#servedCount];
  }

  get mergeKey(): string {
    const { head } = this;
    const key = head?.validated?.mergeKey ?? "";
    const isStart = head !== undefined && (head.sequenceFlags & SEQUENCE_START) !== 0;
    const stateKey = isStart ? this.#initialStateKey : this.stateKey;
    return stateKey === "" ? key : `${key}|${stateKey}`;
  }

  append(request: InferenceRequest): void {
    this.#waiting.push(request);
  }

  /** A request that has to run again, before all others. */
  prepend(request: InferenceRequest): void {
    this.#waiting = [request, ...this.#waiting.slice(this.#servedCount)];
    this.#servedCount = 0;
  }

  /** Takes the oldest waiting request. */
  take(): InferenceRequest | undefined {
    const { head } = this;
    if (head === undefined) return undefined;
    this.#servedCount += 1;
    if (this.#servedCount === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#servedCount = 0;
    } else if (this.#servedCount >= MAX_SERVED_COUNT && this.waitingCount < this.#servedCount) {
      this.#waiting.splice(0, this.#servedCount);
      this.#servedCount = 0;
    }
    return head;
  }

  /** Takes all waiting requests, the oldest first. */
  takeAll(): InferenceRequest[] {
    const all = this.#waiting.slice(this.#servedCount);
    this.#waiting.length = 0;
    this.#servedCount = 0;
    return all;
  }

  /** Makes this the next sequence of the same id after another one that is closed. */
  follow(predecessor: Sequence): void {
    this.predecessor = predecessor;
    predecessor.successor = this;
  }

  /**
   * Takes it out of the row of sequences of the same id.
   * @returns the one that may start now, because there is none before it any more.
   */
  unchain(): Sequence | undefined {
    const { predecessor, successor } = this;
    this.predecessor = undefined;
    this.successor = undefined;
    if (predecessor !== undefined) predecessor.successor = successor;
    if (successor !== undefined) successor.predecessor = predecessor;
    return predecessor === undefined ? successor : undefined;
  }

  /** A sequence that starts anew forgets its states. */
  resetStates(): void {
    this.states = undefined;
    this.stateKey = this.#initialStateKey;
  }
}
