import type { OrtApi } from "#ffi/onnxruntime/api.ts";
import type { ElementType } from "#ffi/onnxruntime/element-type.ts";
import type { MemoryInfo } from "#ffi/onnxruntime/memory-info.ts";
import { Value } from "#ffi/onnxruntime/value.ts";
import { type Shape, shapesEqual } from "../../base/shape.ts";

/** Values kept at most; a model of 8 tensors with 32 batch sizes in two slots has 512. */
const MAX_VALUE_COUNT = 1024;

interface Entry {
  readonly shape: Shape;
  readonly elementType: ElementType;
  readonly byteLength: number;
  readonly value: Value;
}

/** A tensor in a slab. */
export interface SlabTensor {
  readonly address: number;
  readonly byteLength: number;
  readonly elementType: ElementType;
  readonly shape: Shape;
}

/**
 * Values over places in the slabs. Batches use the same few places with the same few shapes again and again, and making
 * a value costs as much as a small run (1.5 µs). A value owns no memory: one whose slab is gone is never used, or the
 * place has become a slab again.
 */
export class ValueCache implements Disposable {
  readonly #api: OrtApi;
  readonly #info: MemoryInfo;
  readonly #maxValueCount: number;
  readonly #byAddress = new Map<number, Entry[]>();
  #count = 0;

  /** @param info borrowed; must outlive this. */
  constructor(api: OrtApi, info: MemoryInfo, maxValueCount = MAX_VALUE_COUNT) {
    this.#api = api;
    this.#info = info;
    this.#maxValueCount = maxValueCount;
  }

  /** Values there are just now. */
  get count(): number {
    return this.#count;
  }

  /**
   * Makes room for the values of a run, which must all live until it is over.
   * @param count how many the run may ask for.
   */
  reserve(count: number): void {
    if (this.#count + count > this.#maxValueCount) this[Symbol.dispose]();
  }

  /** @returns a value that belongs to the cache, valid until the next {@link reserve}. @throws NativeError */
  get(tensor: SlabTensor): Value {
    const { address, elementType, shape, byteLength } = tensor;
    let entries = this.#byAddress.get(address);
    if (entries === undefined) {
      entries = [];
      this.#byAddress.set(address, entries);
    }
    for (const entry of entries) {
      if (
        entry.elementType === elementType &&
        entry.byteLength === byteLength &&
        shapesEqual(entry.shape, shape)
      ) {
        return entry.value;
      }
    }
    const value = Value.overMemory(this.#info, this.#api, tensor, tensor);
    entries.push({ shape: [...shape], elementType, byteLength, value });
    this.#count += 1;
    return value;
  }

  /** Frees all values. The cache can be used again. */
  [Symbol.dispose](): void {
    for (const entries of this.#byAddress.values()) {
      for (const { value } of entries) value[Symbol.dispose]();
    }
    this.#byAddress.clear();
    this.#count = 0;
  }
}
