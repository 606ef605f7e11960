import type { Pointer } from "bun:ffi";
import { CStrings, pointerFrom, WordArray } from "../memory.ts";
import type { OrtApi } from "./api.ts";

/** `GraphOptimizationLevel` of onnxruntime_c_api.h (API 29). */
const GRAPH_OPTIMIZATION_LEVELS = { none: 0, basic: 1, extended: 2, all: 99 } as const;

/** How far onnxruntime rewrites the graph at load. */
export type GraphOptimizationLevel = keyof typeof GRAPH_OPTIMIZATION_LEVELS;

/** Options of an execution provider, in its own words. */
export type ProviderOptions = Readonly<Record<string, string>>;

/** How a session is made. Needed only until the session exists. */
export class SessionOptions implements Disposable {
  readonly #api: OrtApi;
  #pointer: Pointer | undefined;

  /** @throws NativeError */
  constructor(api: OrtApi) {
    this.#api = api;
    this.#pointer = pointerFrom(
      api.obtain("CreateSessionOptions", (out) => api.functions.CreateSessionOptions(out)),
    );
  }

  /** For `ffi/onnxruntime` only. @throws Error after dispose. */
  get pointer(): Pointer {
    if (this.#pointer === undefined) throw new Error("the session options are disposed");
    return this.#pointer;
  }

  setGraphOptimizationLevel(level: GraphOptimizationLevel): void {
    const code = GRAPH_OPTIMIZATION_LEVELS[level];
    this.#api.check(
      "SetSessionGraphOptimizationLevel",
      this.#api.functions.SetSessionGraphOptimizationLevel(this.pointer, code),
    );
  }

  /** @param isParallel nodes of the graph that do not depend on each other run at once. */
  setExecutionMode(isParallel: boolean): void {
    this.#api.check(
      "SetSessionExecutionMode",
      this.#api.functions.SetSessionExecutionMode(this.pointer, isParallel ? 1 : 0),
    );
  }

  /** @param threadCount threads within a node, the calling one included; 0 = one a physical core. */
  setIntraOpThreadCount(threadCount: number): void {
    this.#api.check(
      "SetIntraOpNumThreads",
      this.#api.functions.SetIntraOpNumThreads(this.pointer, threadCount),
    );
  }

  /** @param threadCount threads across nodes, in parallel execution mode; 0 = one a physical core. */
  setInterOpThreadCount(threadCount: number): void {
    this.#api.check(
      "SetInterOpNumThreads",
      this.#api.functions.SetInterOpNumThreads(this.pointer, threadCount),
    );
  }

  /** Whether freed CPU memory is kept for the next run. */
  setCpuMemoryArena(isEnabled: boolean): void {
    const { functions } = this.#api;
    if (isEnabled) {
      this.#api.check("EnableCpuMemArena", functions.EnableCpuMemArena(this.pointer));
    } else {
      this.#api.check("DisableCpuMemArena", functions.DisableCpuMemArena(this.pointer));
    }
  }

  /** Whether the memory of a run with known shapes is taken in one piece. */
  setMemoryPattern(isEnabled: boolean): void {
    const { functions } = this.#api;
    if (isEnabled) this.#api.check("EnableMemPattern", functions.EnableMemPattern(this.pointer));
    else this.#api.check("DisableMemPattern", functions.DisableMemPattern(this.pointer));
  }

  /** @param key as in onnxruntime_session_options_config_keys.h, for example `session.disable_prepacking`. */
  addConfigEntry(key: string, value: string): void {
    this.#api.check(
      "AddSessionConfigEntry",
      this.#api.functions.AddSessionConfigEntry(this.pointer, key, value),
    );
  }

  /** The session then uses the pools of its environment, which must have some. */
  disablePerSessionThreads(): void {
    this.#api.check(
      "DisablePerSessionThreads",
      this.#api.functions.DisablePerSessionThreads(this.pointer),
    );
  }

  /** Loads a library of operators. It stays loaded as long as a session uses it. @param path absolute. */
  registerCustomOperators(path: string): void {
    this.#api.check(
      "RegisterCustomOpsLibrary_V2",
      this.#api.functions.RegisterCustomOpsLibrary_V2(this.pointer, path),
    );
  }

  /**
   * Puts an execution provider behind those already there; nodes that none of them takes run on the CPU.
   *
   * @param name onnxruntime's short name: `CUDA`, `TensorRT`, `OpenVINO`, `XNNPACK` …
   * @throws NativeError when the library (or what it needs on this machine) has no such provider.
   */
  appendProvider(name: string, options: ProviderOptions): void {
    const keys = WordArray.pointersTo(new CStrings(Object.keys(options)));
    const values = WordArray.pointersTo(new CStrings(Object.values(options)));
    const list = { keys, values };
    if (name === "CUDA") this.#appendCuda(list);
    else if (name === "TensorRT") this.#appendTensorRt(list);
    else {
      this.#api.check(
        "SessionOptionsAppendExecutionProvider",
        this.#api.functions.SessionOptionsAppendExecutionProvider(
          this.pointer,
          name,
          keys.address,
          values.address,
          keys.length,
        ),
      );
    }
  }

  #appendCuda(list: { readonly keys: WordArray; readonly values: WordArray }): void {
    const { functions } = this.#api;
    const cuda = pointerFrom(
      this.#api.obtain("CreateCUDAProviderOptions", (out) =>
        functions.CreateCUDAProviderOptions(out),
      ),
    );
    try {
      const { keys, values } = list;
      this.#api.check(
        "UpdateCUDAProviderOptions",
        functions.UpdateCUDAProviderOptions(cuda, keys.address, values.address, keys.length),
      );
      this.#api.check(
        "SessionOptionsAppendExecutionProvider_CUDA_V2",
        functions.SessionOptionsAppendExecutionProvider_CUDA_V2(this.pointer, cuda),
      );
    } finally {
      functions.ReleaseCUDAProviderOptions(cuda);
    }
  }

  #appendTensorRt(list: { readonly keys: WordArray; readonly values: WordArray }): void {
    const { functions } = this.#api;
    const tensorRt = pointerFrom(
      this.#api.obtain("CreateTensorRTProviderOptions", (out) =>
        functions.CreateTensorRTProviderOptions(out),
      ),
    );
    try {
      const { keys, values } = list;
      this.#api.check(
        "UpdateTensorRTProviderOptions",
        functions.UpdateTensorRTProviderOptions(
          tensorRt,
          keys.address,
          values.address,
          keys.length,
        ),
      );
      this.#api.check(
        "SessionOptionsAppendExecutionProvider_TensorRT_V2",
        functions.SessionOptionsAppendExecutionProvider_TensorRT_V2(this.pointer, tensorRt),
      );
    } finally {
      functions.ReleaseTensorRTProviderOptions(tensorRt);
    }
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    if (this.#pointer === undefined) return;
    this.#api.functions.ReleaseSessionOptions(this.#pointer);
    this.#pointer = undefined;
  }
}
