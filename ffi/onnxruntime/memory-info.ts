import type { Pointer } from "bun:ffi";
import { pointerFrom } from "../memory.ts";
import type { OrtApi } from "./api.ts";

/** `OrtDeviceAllocator` and `OrtMemTypeDefault` of onnxruntime_c_api.h (API 29). */
const DEVICE_ALLOCATOR = 0;
const MEMORY_TYPE_DEFAULT = 0;

/** Tells onnxruntime that memory of ours is plain CPU memory. */
export class MemoryInfo implements Disposable {
  readonly #api: OrtApi;
  #pointer: Pointer | undefined;

  /** @throws NativeError */
  constructor(api: OrtApi) {
    this.#api = api;
    this.#pointer = pointerFrom(
      api.obtain("CreateCpuMemoryInfo", (out) =>
        api.functions.CreateCpuMemoryInfo(DEVICE_ALLOCATOR, MEMORY_TYPE_DEFAULT, out),
      ),
    );
  }

  /** For `ffi/onnxruntime` only. @throws Error after dispose. */
  get pointer(): Pointer {
    if (this.#pointer === undefined) throw new Error("the memory info is disposed");
    return this.#pointer;
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    if (this.#pointer === undefined) return;
    this.#api.functions.ReleaseMemoryInfo(this.#pointer);
    this.#pointer = undefined;
  }
}
