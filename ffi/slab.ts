import { dlopen, type Pointer, toArrayBuffer } from "bun:ffi";

/** glibc's allocator, `<stdlib.h>` (POSIX.1-2017). */
const SYMBOLS = {
  posix_memalign: {
    args: ["ptr" /* void **memptr */, "u64" /* size_t alignment */, "u64" /* size_t size */],
    returns: "i32",
  },
  free: { args: ["ptr" /* void *ptr */], returns: "void" },
} as const;

const ALIGNMENT_BYTES = 64;

interface NativeSlabHandle {
  readonly address: number;
  readonly byteLength: number;
  readonly path: string;
}

/**
 * Slabs in the memory of this process, for instances in Workers, where each thread can reach them by their address.
 * Nothing here is tied to a thread except the views.
 */
export class NativeSlabs {
  readonly #libc = dlopen("libc.so.6", SYMBOLS).symbols;
  /** Out-parameter of posix_memalign; `.buffer` was touched by construction, so it does not move. */
  readonly #out = new BigUint64Array(new ArrayBuffer(8));

  /** @throws Error when there is not so much memory. */
  allocate(byteLength: number): NativeSlab {
    const status = this.#libc.posix_memalign(this.#out, ALIGNMENT_BYTES, byteLength);
    if (status !== 0) {
      throw new Error(`cannot allocate ${byteLength} bytes: posix_memalign returned ${status}`);
    }
    const address = Number(this.#out[0]);
    return new NativeSlab({ address, byteLength, path: "" }, () => this.#free(address));
  }

  /** A view of a slab that another thread of this process made. */
  attach(handle: NativeSlabHandle): NativeSlab {
    return new NativeSlab(handle, () => undefined);
  }

  /** Frees a slab whose maker ended without doing so. */
  reclaim(handle: NativeSlabHandle): void {
    this.#free(handle.address);
  }

  #free(address: number): void {
    this.#libc.free(address as Pointer);
  }
}

/** One slab as this thread sees it. */
export class NativeSlab {
  readonly handle: NativeSlabHandle;
  readonly address: number;
  readonly byteLength: number;
  readonly bytes: Uint8Array;
  readonly words: Float64Array;
  #buffer: ArrayBuffer | undefined;
  readonly #release: () => void;

  /** @param release frees or unmaps; called once, after the views were emptied. */
  constructor(handle: NativeSlabHandle, release: () => void, address: number = handle.address) {
    this.handle = handle;
    this.address = address;
    this.byteLength = handle.byteLength;
    this.#release = release;
    this.#buffer = toArrayBuffer(address as Pointer, 0, handle.byteLength);
    this.bytes = new Uint8Array(this.#buffer);
    this.words = new Float64Array(this.#buffer, 0, Math.floor(handle.byteLength / 8));
  }

  dispose(): void {
    if (this.#buffer === undefined) return;
    // A transfer empties every view of the buffer, so that a late reader finds nothing instead of freed memory.
    this.#buffer.transfer();
    this.#buffer = undefined;
    this.#release();
  }
}
