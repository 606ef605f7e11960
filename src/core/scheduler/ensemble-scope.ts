import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";
import type { EnsembleStep } from "./ensemble-plan.ts";

/** A tensor inside of an ensemble. */
export interface HeldTensor {
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** Stands for an optional input that the request left out: it will not come, and steps run without it. */
export const ABSENT = Symbol("absent");

/**
 * Tensors that belong together: those of a request, or those that one answer of a decoupled step leads to. The latter
 * lie inside of the scope that the decoupled step ran in and see its tensors.
 */
export class EnsembleScope {
  readonly origin: number;
  readonly parent: EnsembleScope | undefined;
  readonly #tensors = new Map<number, HeldTensor | typeof ABSENT>();
  readonly #started = new Set<EnsembleStep>();
  /** Steps under way, or waiting for their turn, in this scope, and scopes inside of it. */
  openCount = 0;
  /** The response whose outputs are all here; kept until the responses before it have left. */
  isComplete = false;

  constructor(origin: number, parent: EnsembleScope | undefined) {
    this.origin = origin;
    this.parent = parent;
  }

  /** Steps that have begun in this scope. */
  get startedCount(): number {
    return this.#started.size;
  }

  /** @returns undefined while the tensor is not there yet. */
  find(tensor: number): HeldTensor | typeof ABSENT | undefined {
    return this.#tensors.get(tensor) ?? this.parent?.find(tensor);
  }

  put(tensor: number, held: HeldTensor | typeof ABSENT): void {
    this.#tensors.set(tensor, held);
  }

  /** Replaces borrowed bytes by bytes of its own. */
  keep(tensor: number): void {
    const held = this.#tensors.get(tensor);
    if (held === undefined || held === ABSENT) return;
    this.#tensors.set(tensor, { ...held, bytes: Uint8Array.from(held.bytes) });
  }

  /** Whether a step has all that it waits for and has not begun. */
  canStart(step: EnsembleStep): boolean {
    if (this.#started.has(step)) return false;
    return step.inputs.every(({ tensor }) => this.find(tensor) !== undefined);
  }

  markStarted(step: EnsembleStep): void {
    this.#started.add(step);
  }
}
