import { CStrings, WordArray } from "../memory.ts";
import type { RunOptions } from "./run-options.ts";
import type { Session } from "./session.ts";
import { Value } from "./value.ts";

/** Names that a run may mention; positions in these lists stand for them later. */
export interface RunNames {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/**
 * The arguments of `OrtApi::Run`, in arrays made once: a run writes pointers into them and allocates nothing.
 * Belongs to one instance; `begin`, then add, then `run`, then `end`.
 */
export class RunCall {
  readonly #session: Session;
  readonly #options: RunOptions;
  readonly #inputNames: CStrings;
  readonly #outputNames: CStrings;
  readonly #inputNamePointers: WordArray;
  readonly #inputValues: WordArray;
  readonly #outputNamePointers: WordArray;
  readonly #outputValues: WordArray;
  #inputCount = 0;
  #outputCount = 0;
  /** Outputs of the last run that onnxruntime allocated and nobody has taken. */
  readonly #isOurs: boolean[] = [];

  /** @param session borrowed, like `options`: both must outlive this. */
  constructor(session: Session, options: RunOptions, names: RunNames) {
    this.#session = session;
    this.#options = options;
    this.#inputNames = new CStrings(names.inputs);
    this.#outputNames = new CStrings(names.outputs);
    this.#inputNamePointers = new WordArray(names.inputs.length);
    this.#inputValues = new WordArray(names.inputs.length);
    this.#outputNamePointers = new WordArray(names.outputs.length);
    this.#outputValues = new WordArray(names.outputs.length);
  }

  /** Forgets the arguments of the last run. */
  begin(): void {
    this.#inputCount = 0;
    this.#outputCount = 0;
  }

  /** @param nameIndex into `RunNames.inputs`. @param value borrowed until `run` returns. */
  addInput(nameIndex: number, value: Value): void {
    const at = this.#inputCount++;
    this.#inputNamePointers.set(at, this.#inputNames.addresses[nameIndex] ?? 0);
    this.#inputValues.set(at, value.pointer);
  }

  /**
   * @param nameIndex into `RunNames.outputs`.
   * @param value where the run shall write; without it onnxruntime allocates, see {@link takeOutput}.
   */
  addOutput(nameIndex: number, value: Value | undefined): void {
    const at = this.#outputCount++;
    this.#outputNamePointers.set(at, this.#outputNames.addresses[nameIndex] ?? 0);
    this.#outputValues.set(at, value === undefined ? 0 : value.pointer);
    this.#isOurs[at] = value === undefined;
  }

  /** Blocks this thread until the run is over. @throws NativeError; the session stays usable. */
  run(): void {
    const { api } = this.#session;
    api.check(
      "Run",
      api.functions.Run(
        this.#session.pointer,
        this.#options.pointer,
        this.#inputNamePointers.address,
        this.#inputValues.address,
        this.#inputCount,
        this.#outputNamePointers.address,
        this.#outputCount,
        this.#outputValues.address,
      ),
    );
  }

  /**
   * What onnxruntime allocated for an output that was added without a value. The caller disposes it.
   * @param at position in the order of `addOutput`.
   */
  takeOutput(at: number): Value {
    this.#isOurs[at] = false;
    return Value.adopt(this.#session.api, this.#outputValues.get(at));
  }

  /** Frees outputs of the last run that nobody took. */
  end(): void {
    for (let at = 0; at < this.#outputCount; at++) {
      if (this.#isOurs[at] !== true || this.#outputValues.get(at) === 0) continue;
      this.takeOutput(at)[Symbol.dispose]();
    }
    this.#outputCount = 0;
  }
}
