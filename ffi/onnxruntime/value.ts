import type { Pointer } from "bun:ffi";
import { copyMemory, pointerFrom, WordArray } from "../memory.ts";
import type { OrtApi } from "./api.ts";
import { type ElementType, elementTypeCode, elementTypeFrom } from "./element-type.ts";
import type { MemoryInfo } from "./memory-info.ts";

/** Memory of ours that a value is laid over. */
export interface TensorMemory {
  readonly address: number;
  readonly byteLength: number;
}

/** What a tensor turned out to be. */
export interface TensorDescription {
  readonly elementType: ElementType;
  readonly shape: number[];
}

/** One `OrtValue`: a tensor over memory of ours, or one that onnxruntime allocated. */
export class Value implements Disposable {
  readonly #api: OrtApi;
  #pointer: Pointer | undefined;

  private constructor(api: OrtApi, pointer: Pointer) {
    this.#api = api;
    this.#pointer = pointer;
  }

  /**
   * A tensor over memory that stays ours; it must be there as long as runs use the value. Not for strings.
   * @throws NativeError when the shape needs more bytes than there are.
   */
  static overMemory(
    info: MemoryInfo,
    api: OrtApi,
    memory: TensorMemory,
    { elementType, shape }: { elementType: ElementType; shape: readonly number[] },
  ): Value {
    const dimensions = new WordArray(shape.length);
    dimensions.setAll(shape);
    const pointer = api.obtain("CreateTensorWithDataAsOrtValue", (out) =>
      api.functions.CreateTensorWithDataAsOrtValue(
        info.pointer,
        // Null would be refused, even where there is nothing to read.
        memory.byteLength === 0 ? dimensions.address : pointerFrom(memory.address),
        memory.byteLength,
        dimensions.address,
        shape.length,
        elementTypeCode(elementType),
        out,
      ),
    );
    return new Value(api, pointerFrom(pointer));
  }

  /** A tensor of empty strings; fill it with {@link setString}. @throws NativeError */
  static strings(api: OrtApi, shape: readonly number[]): Value {
    const dimensions = new WordArray(shape.length);
    dimensions.setAll(shape);
    const allocator = pointerFrom(
      api.obtain("GetAllocatorWithDefaultOptions", (out) =>
        api.functions.GetAllocatorWithDefaultOptions(out),
      ),
    );
    const pointer = api.obtain("CreateTensorAsOrtValue", (out) =>
      api.functions.CreateTensorAsOrtValue(
        allocator,
        dimensions.address,
        shape.length,
        elementTypeCode("string"),
        out,
      ),
    );
    return new Value(api, pointerFrom(pointer));
  }

  /** Takes over what a run produced. */
  static adopt(api: OrtApi, address: number): Value {
    return new Value(api, pointerFrom(address));
  }

  /** For `ffi/onnxruntime` only. @throws Error after dispose. */
  get pointer(): Pointer {
    if (this.#pointer === undefined) throw new Error("the onnxruntime value is disposed");
    return this.#pointer;
  }

  /** False for sequences and maps, and for an optional output that has no value. */
  get isTensor(): boolean {
    const { functions } = this.#api;
    const hasValue = this.#api.obtain("HasValue", (out) => functions.HasValue(this.pointer, out));
    if (hasValue === 0) return false;
    return this.#api.obtain("IsTensor", (out) => functions.IsTensor(this.pointer, out)) !== 0;
  }

  /** @throws NativeError when it is no tensor. */
  describe(): TensorDescription {
    const { functions } = this.#api;
    const info = pointerFrom(
      this.#api.obtain("GetTensorTypeAndShape", (out) =>
        functions.GetTensorTypeAndShape(this.pointer, out),
      ),
    );
    try {
      const code = this.#api.obtain("GetTensorElementType", (out) =>
        functions.GetTensorElementType(info, out),
      );
      const rank = this.#api.obtain("GetDimensionsCount", (out) =>
        functions.GetDimensionsCount(info, out),
      );
      const dimensions = new WordArray(rank);
      this.#api.check("GetDimensions", functions.GetDimensions(info, dimensions.address, rank));
      return { elementType: elementTypeFrom(code), shape: dimensions.take(rank) };
    } finally {
      functions.ReleaseTensorTypeAndShapeInfo(info);
    }
  }

  /** Copies the tensor's bytes out. @param byteLength at most what it has. Not for strings. */
  copyTo(target: number, byteLength: number): void {
    const data = this.#api.obtain("GetTensorMutableData", (out) =>
      this.#api.functions.GetTensorMutableData(this.pointer, out),
    );
    copyMemory(target, data, byteLength);
  }

  /**
   * Sets one string, whatever its bytes are, NULs included.
   * @param source address of `byteLength` bytes.
   */
  setString(index: number, source: number, byteLength: number): void {
    const buffer = this.#api.obtain("GetResizedStringTensorElementBuffer", (out) =>
      this.#api.functions.GetResizedStringTensorElementBuffer(this.pointer, index, byteLength, out),
    );
    copyMemory(buffer, source, byteLength);
  }

  /** Bytes of all strings of a string tensor together, without lengths or terminators. */
  stringBytes(): number {
    return this.#api.obtain("GetStringTensorDataLength", (out) =>
      this.#api.functions.GetStringTensorDataLength(this.pointer, out),
    );
  }

  /**
   * Copies all strings out, one behind the other.
   *
   * @param target room for `stringBytes` bytes.
   * @param offsets gets the start of each string; one word a string.
   */
  copyStrings(target: TensorMemory, offsets: WordArray): void {
    this.#api.check(
      "GetStringTensorContent",
      this.#api.functions.GetStringTensorContent(
        this.pointer,
        pointerFrom(target.address),
        target.byteLength,
        offsets.address,
        offsets.length,
      ),
    );
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    if (this.#pointer === undefined) return;
    this.#api.functions.ReleaseValue(this.#pointer);
    this.#pointer = undefined;
  }
}
