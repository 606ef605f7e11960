import { DATATYPES, datatypeFromCode } from "../../../base/datatype.ts";
import { alignedOffset, type Slab, type SlabAllocator } from "../../memory/slab.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { INLINE_LIMIT_BYTES } from "./python-frames.ts";
import { SharedArena } from "./shared-arena.ts";

/** A tensor as frames carry it; the first member is a name or an index. `where` −1 is the tail, else a segment. */
export type TensorEntry = readonly [
  nameOrIndex: string | number,
  code: number,
  shape: readonly number[],
  where: number,
  offset: number,
  byteLength: number,
];

/** A region of a segment that the process returns as a whole. */
export type LeaseRegion = readonly [segment: number, offset: number, byteLength: number];

/** Tensors placed for one frame. */
export interface PlacedTensors {
  readonly entries: readonly TensorEntry[];
  /** Set when some lie in shared memory. */
  readonly lease: LeaseRegion | undefined;
}

/** What a tensor to be sent looks like. */
export interface OutgoingTensor {
  readonly nameOrIndex: string | number;
  readonly datatype: Tensor["datatype"];
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The memory between the server and one Python process, in both directions. */
export class PythonTensors implements Disposable {
  readonly #slabs: SlabAllocator;
  readonly #arena: SharedArena;
  /** Segments that the process made, by its numbers. */
  readonly #received = new Map<number, Slab>();
  readonly #leases = new Map<number, LeaseRegion>();

  /** @param announce tells the process of a new segment of the server's. */
  constructor(
    slabs: SlabAllocator,
    firstSegmentBytes: number,
    announce: (segment: number, slab: Slab) => void,
  ) {
    this.#slabs = slabs;
    this.#arena = new SharedArena(slabs, firstSegmentBytes, announce);
  }

  /**
   * Puts tensors where the process can read them: small ones into the frame's tail, large ones into one region of
   * shared memory, which stays taken until the process returns `leaseKey`. The one copy of these bytes.
   */
  place(
    tensors: readonly OutgoingTensor[],
    tail: Uint8Array[],
    tailStartBytes: number,
    leaseKey: number,
  ): PlacedTensors {
    let sharedBytes = 0;
    for (const { bytes } of tensors) {
      if (bytes.length > INLINE_LIMIT_BYTES) sharedBytes += alignedOffset(bytes.length);
    }
    const block = sharedBytes === 0 ? undefined : this.#arena.allocate(sharedBytes);
    let tailBytes = tailStartBytes;
    let blockBytes = 0;
    const entries = tensors.map((tensor): TensorEntry => {
      const { nameOrIndex, datatype, shape, bytes } = tensor;
      const { code } = DATATYPES[datatype];
      if (block === undefined || bytes.length <= INLINE_LIMIT_BYTES) {
        const offset = tailBytes;
        tail.push(bytes);
        tailBytes += bytes.length;
        return [nameOrIndex, code, shape, -1, offset, bytes.length];
      }
      block.bytes.set(bytes, blockBytes);
      const offset = block.offset + blockBytes;
      blockBytes += alignedOffset(bytes.length);
      return [nameOrIndex, code, shape, block.segment, offset, bytes.length];
    });
    if (block === undefined) return { entries, lease: undefined };
    const lease: LeaseRegion = [block.segment, block.offset, sharedBytes];
    this.#leases.set(leaseKey, lease);
    return { entries, lease };
  }

  /** The process has let go of these regions. Unknown keys are ignored. */
  release(leaseKeys: readonly number[]): void {
    for (const key of leaseKeys) {
      const lease = this.#leases.get(key);
      if (lease === undefined) continue;
      this.#leases.delete(key);
      this.#arena.free(lease[0], lease[1], lease[2]);
    }
  }

  /** Maps a segment that the process made. @throws Error when the process is gone. */
  map(segment: number, path: string, byteLength: number): void {
    this.#received.set(segment, this.#slabs.attach({ address: 0, byteLength, path }));
  }

  /**
   * A tensor that the process sent: a view of the frame's tail or of its segment.
   * @param freed gets the block to be returned to the process, where there is one.
   * @throws Error for an entry that makes no sense.
   */
  read(entry: TensorEntry, tail: Uint8Array, freed: [number, number][]): Tensor {
    const [name, code, shape, where, offset, byteLength] = entry;
    const datatype = datatypeFromCode(code);
    if (datatype === undefined)
      throw new Error(`output '${name}' has the unknown datatype ${code}`);
    return {
      name: String(name),
      datatype,
      shape,
      bytes: this.#bytes(where, offset, byteLength, tail, freed),
    };
  }

  [Symbol.dispose](): void {
    this.#arena[Symbol.dispose]();
    for (const slab of this.#received.values()) slab.dispose();
    this.#received.clear();
    this.#leases.clear();
  }

  #bytes(
    where: number,
    offset: number,
    byteLength: number,
    tail: Uint8Array,
    freed: [number, number][],
  ): Uint8Array {
    if (where < 0) return tail.subarray(offset, offset + byteLength);
    const slab = this.#received.get(where);
    if (slab === undefined) throw new Error(`segment ${where} was never announced`);
    freed.push([where, offset]);
    return slab.bytes.subarray(offset, offset + byteLength);
  }
}
