import type { Pointer } from "bun:ffi";
import { pointerFrom } from "../memory.ts";
import type { OrtApi } from "./api.ts";

/**
 * `ORT_LOGGING_LEVEL_FATAL`. Below that onnxruntime writes lines of its own to stderr, one for each failed run too; what
 * it has to say about a failure comes back with the status as well.
 */
const LOGGING_LEVEL_FATAL = 4;

/** Thread pools that all sessions of the process share instead of having their own. */
export interface GlobalThreadPools {
  /** 0 = onnxruntime's default, one thread a physical core. */
  readonly intraOpThreadCount: number;
  readonly interOpThreadCount: number;
  /** Whether idle pool threads burn CPU for a while before they sleep. */
  readonly allowsSpinning: boolean;
}

/**
 * onnxruntime's process-wide state. The library counts its owners: each thread that uses sessions holds one of these,
 * and the settings of the first one count for all until the last is gone.
 */
export class Environment implements Disposable {
  readonly api: OrtApi;
  #pointer: Pointer | undefined;

  /** @throws NativeError */
  constructor(api: OrtApi, globalThreadPools?: GlobalThreadPools) {
    this.api = api;
    this.#pointer = pointerFrom(
      globalThreadPools === undefined
        ? api.obtain("CreateEnv", (out) =>
            api.functions.CreateEnv(LOGGING_LEVEL_FATAL, "tribune", out),
          )
        : createWithGlobalThreadPools(api, globalThreadPools),
    );
  }

  /** For `ffi/onnxruntime` only. @throws Error after dispose. */
  get pointer(): Pointer {
    if (this.#pointer === undefined) throw new Error("the onnxruntime environment is disposed");
    return this.#pointer;
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    if (this.#pointer === undefined) return;
    this.api.functions.ReleaseEnv(this.#pointer);
    this.#pointer = undefined;
  }
}

function createWithGlobalThreadPools(api: OrtApi, pools: GlobalThreadPools): number {
  const { functions } = api;
  const options = pointerFrom(
    api.obtain("CreateThreadingOptions", (out) => functions.CreateThreadingOptions(out)),
  );
  try {
    api.check(
      "SetGlobalIntraOpNumThreads",
      functions.SetGlobalIntraOpNumThreads(options, pools.intraOpThreadCount),
    );
    api.check(
      "SetGlobalInterOpNumThreads",
      functions.SetGlobalInterOpNumThreads(options, pools.interOpThreadCount),
    );
    api.check(
      "SetGlobalSpinControl",
      functions.SetGlobalSpinControl(options, pools.allowsSpinning ? 1 : 0),
    );
    return api.obtain("CreateEnvWithGlobalThreadPools", (out) =>
      functions.CreateEnvWithGlobalThreadPools(LOGGING_LEVEL_FATAL, "tribune", options, out),
    );
  } finally {
    functions.ReleaseThreadingOptions(options);
  }
}
