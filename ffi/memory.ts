import { dlopen, type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";

/** glibc, `<stdlib.h>` and `<string.h>` (ISO C). */
const LIBC_SYMBOLS = {
  calloc: { args: ["u64" /* size_t nmemb */, "u64" /* size_t size */], returns: "ptr" },
  free: { args: ["ptr" /* void *ptr */], returns: "void" },
  memcpy: {
    args: ["ptr" /* void *dest */, "ptr" /* const void *src */, "u64" /* size_t n */],
    returns: "ptr",
  },
} as const;

type Libc = ReturnType<typeof dlopen<typeof LIBC_SYMBOLS>>["symbols"];

let openedLibc: Libc | undefined;

function libc(): Libc {
  openedLibc ??= dlopen("libc.so.6", LIBC_SYMBOLS).symbols;
  return openedLibc;
}

const TWO_TO_32 = 0x1_0000_0000;

/**
 * The one place where a number becomes a pointer.
 * @throws RangeError for what cannot be an address: `bun:ffi` would wrap it silently.
 */
export function pointerFrom(address: number | bigint | null): Pointer {
  const value = Number(address);
  if (!Number.isSafeInteger(value) || value <= 0) throw new RangeError(`no address: ${address}`);
  return value as Pointer;
}

/** Address of the first byte of a view. The caller keeps the view alive while native code uses it. */
export function addressOf(view: Uint8Array): number {
  return view.byteLength === 0 ? 0 : ptr(view);
}

/** Copies between native addresses that do not overlap. Both sides must have `byteLength` bytes. */
export function copyMemory(target: number, source: number, byteLength: number): void {
  if (byteLength > 0) libc().memcpy(target as Pointer, source as Pointer, byteLength);
}

/** Reads a pointer at a native address; 0 for null. */
export function readPointer(address: number, offsetBytes = 0): number {
  return read.ptr(address as Pointer, offsetBytes);
}

/**
 * An array of 64-bit words that native code reads or writes: pointers, sizes, dimensions, out-parameters.
 *
 * Its memory is an ArrayBuffer of its own, which never moves (a small typed array made by length does, as soon as its
 * `.buffer` is touched). Values stay numbers, so that filling it makes no bigint. It must be referenced for as long
 * as native code may use {@link address}.
 */
export class WordArray {
  readonly length: number;
  readonly address: Pointer;
  /** What the words point to, kept alive as long as they are: native code sees no references. */
  readonly targets: object | undefined;
  readonly #halves: Uint32Array;

  constructor(length: number, targets?: object) {
    this.length = length;
    this.targets = targets;
    // At least one word: an empty array has no address.
    this.#halves = new Uint32Array(new ArrayBuffer(Math.max(1, length) * 8));
    this.address = ptr(this.#halves);
  }

  /** An array of `const char*`, which keeps the texts. */
  static pointersTo(strings: CStrings): WordArray {
    const words = new WordArray(strings.addresses.length, strings);
    words.setAll(strings.addresses);
    return words;
  }

  /** @param value a safe integer; negative ones are written in two's complement. */
  set(index: number, value: number): void {
    this.#halves[index * 2] = value;
    this.#halves[index * 2 + 1] = Math.floor(value / TWO_TO_32);
  }

  /** The word as a signed number; beyond 2^53 it is rounded. */
  get(index: number): number {
    const low = this.#halves[index * 2] ?? 0;
    const high = this.#halves[index * 2 + 1] ?? 0;
    return (high | 0) * TWO_TO_32 + low;
  }

  /** Writes a list from the first word on. @throws RangeError when it does not fit. */
  setAll(values: readonly number[]): void {
    if (values.length > this.length) {
      throw new RangeError(`${values.length} values for ${this.length} words`);
    }
    for (let i = 0; i < values.length; i++) this.set(i, values[i] ?? 0);
  }

  /** The first `count` words. */
  take(count: number): number[] {
    const values = new Array<number>(count);
    for (let i = 0; i < count; i++) values[i] = this.get(i);
    return values;
  }
}

/**
 * C strings that stay where they are for as long as this object lives. A pointer array does not keep its targets
 * alive, so the owner of a native object holds one of these for the names that it passes on.
 */
export class CStrings {
  readonly addresses: readonly number[];
  readonly #bytes: Uint8Array;

  /** @throws RangeError when a text has a NUL, where C would silently cut it. */
  constructor(texts: readonly string[]) {
    const encoded = texts.map((text) => {
      if (text.includes("\0")) throw new RangeError(`a NUL byte in ${JSON.stringify(text)}`);
      return new TextEncoder().encode(text);
    });
    const totalBytes = encoded.reduce((sum, { byteLength }) => sum + byteLength + 1, 0);
    this.#bytes = new Uint8Array(new ArrayBuffer(Math.max(1, totalBytes)));
    const base = ptr(this.#bytes);
    let offset = 0;
    this.addresses = encoded.map((bytes) => {
      const address = base + offset;
      this.#bytes.set(bytes, offset);
      offset += bytes.byteLength + 1;
      return address;
    });
  }
}

/**
 * A few words of native memory that all threads of the process can reach by their address. Whoever made it frees it;
 * the others only attach.
 */
export class NativeBlock {
  readonly address: number;
  /** The memory as 64-bit words. */
  readonly words: BigUint64Array;
  /** The same memory in halves, for counters: `Atomics` works on it across threads. */
  readonly counters: Int32Array;
  #buffer: ArrayBuffer | undefined;

  private constructor(address: number, wordCount: number) {
    this.address = address;
    this.#buffer = toArrayBuffer(address as Pointer, 0, wordCount * 8);
    this.words = new BigUint64Array(this.#buffer);
    this.counters = new Int32Array(this.#buffer);
  }

  /** Zeroed words. @throws Error when there is not so much memory. */
  static allocate(wordCount: number): NativeBlock {
    const address = Number(libc().calloc(wordCount, 8));
    if (address === 0) throw new Error(`cannot allocate ${wordCount * 8} bytes of native memory`);
    return new NativeBlock(address, wordCount);
  }

  /** A view of words that another thread allocated. */
  static attach(address: number, wordCount: number): NativeBlock {
    return new NativeBlock(pointerFrom(address), wordCount);
  }

  /** Ends this view. Views become empty rather than dangling. Idempotent. */
  detach(): void {
    this.#buffer?.transfer();
    this.#buffer = undefined;
  }

  /** Ends this view and frees the memory; nobody else may use it any more. Idempotent. */
  free(): void {
    if (this.#buffer === undefined) return;
    this.detach();
    libc().free(this.address as Pointer);
  }
}
