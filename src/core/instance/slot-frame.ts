import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";
import type { BatchInputTensor } from "../backend/backend-instance.ts";
import type { Slab } from "../memory/slab.ts";
import { type FrameTensor, frameWordCount, readBatchFrame } from "./batch-frame.ts";

/** A batch frame whose inputs have their places in memory. */
export interface PlacedFrame {
  readonly rowCount: number;
  readonly requestRows: readonly number[];
  readonly wantedOutputs: readonly number[];
  readonly inputs: readonly BatchInputTensor[];
}

/**
 * The frames in one input slab. Most batches of a slot have the frame of the one before, and then they get the same
 * object with the same views: comparing words costs a fraction of reading them.
 */
export class SlotFrame {
  readonly #slab: Slab;
  #frame: PlacedFrame | undefined;
  /** Words of the frame that was read last. */
  #words = new Float64Array(0);

  /** @param slab owned from now on. */
  constructor(slab: Slab) {
    this.#slab = slab;
  }

  /** @throws Error for a bad frame. */
  read(): PlacedFrame {
    if (this.#frame !== undefined && this.#isUnchanged()) return this.#frame;
    const slab = this.#slab;
    const { rowCount, requestRows, wantedOutputs, inputs } = readBatchFrame(slab.words);
    this.#frame = {
      rowCount,
      requestRows,
      wantedOutputs,
      inputs: inputs.map((tensor) => new SlabInput(slab, tensor)),
    };
    this.#words = slab.words.slice(0, frameWordCount(slab.words));
    return this.#frame;
  }

  dispose(): void {
    this.#slab.dispose();
  }

  #isUnchanged(): boolean {
    const last = this.#words;
    const { words } = this.#slab;
    // The count of words is one of them, so a longer frame differs as well.
    for (let at = 0; at < last.length; at++) if (words[at] !== last[at]) return false;
    return true;
  }
}

/** An input whose view is made only when a backend asks for it; many need but the address. */
class SlabInput implements BatchInputTensor {
  readonly index: number;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly address: number;
  readonly byteLength: number;
  readonly #slab: Slab;
  readonly #offsetBytes: number;
  #bytes: Uint8Array | undefined;

  constructor(slab: Slab, tensor: FrameTensor) {
    this.index = tensor.index;
    this.datatype = tensor.datatype;
    this.shape = tensor.shape;
    this.address = slab.address + tensor.offsetBytes;
    this.byteLength = tensor.byteLength;
    this.#slab = slab;
    this.#offsetBytes = tensor.offsetBytes;
  }

  get bytes(): Uint8Array {
    this.#bytes ??= new Uint8Array(this.#slab.bytes.buffer, this.#offsetBytes, this.byteLength);
    return this.#bytes;
  }
}
