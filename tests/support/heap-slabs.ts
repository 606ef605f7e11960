import {
  SLAB_ALIGNMENT_BYTES,
  type Slab,
  type SlabAllocator,
  type SlabHandle,
} from "../../src/core/memory/slab.ts";

/** Slabs on the JavaScript heap, with made-up addresses: for both sides of a host in one thread, without any FFI. */
export class HeapSlabs implements SlabAllocator {
  readonly #buffers = new Map<number, ArrayBuffer>();
  #nextAddress = 65536;
  /** Largest slab that is granted. */
  limitBytes = Number.POSITIVE_INFINITY;

  /** Slabs made and not freed. */
  get liveCount(): number {
    return this.#buffers.size;
  }

  allocate(byteLength: number): Slab {
    if (byteLength > this.limitBytes) throw new Error(`cannot allocate ${byteLength} bytes`);
    const address = this.#nextAddress;
    this.#nextAddress += (Math.ceil(byteLength / SLAB_ALIGNMENT_BYTES) + 1) * SLAB_ALIGNMENT_BYTES;
    const buffer = new ArrayBuffer(byteLength);
    this.#buffers.set(address, buffer);
    return slabOf({ address, byteLength, path: "" }, buffer, () => this.#buffers.delete(address));
  }

  attach(handle: SlabHandle): Slab {
    const buffer = this.#buffers.get(handle.address);
    if (buffer === undefined) throw new Error(`no slab at ${handle.address}`);
    return slabOf(handle, buffer, () => undefined);
  }

  reclaim(handle: SlabHandle): void {
    this.#buffers.delete(handle.address);
  }
}

function slabOf(handle: SlabHandle, buffer: ArrayBuffer, dispose: () => void): Slab {
  return {
    handle,
    address: handle.address,
    byteLength: handle.byteLength,
    bytes: new Uint8Array(buffer),
    words: new Float64Array(buffer, 0, Math.floor(handle.byteLength / 8)),
    dispose,
  };
}
