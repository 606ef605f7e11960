import type { Pointer } from "bun:ffi";
import { pointerFrom } from "../memory.ts";
import { setNativeVariable } from "../process-environment.ts";
import type { OrtApi } from "./api.ts";

/**
 * `ORT_LOGGING_LEVEL_FATAL`. Below that onnxruntime writes lines of its own to stderr, one for each failed run too; what
 * it has to say about a failure comes back with the status as well.
 */
const LOGGING_LEVEL_FATAL = 4;

/**
 * Newer official builds for Linux (1.32 among them) report to Microsoft: at the first environment they start threads,
 * write a device id and a database into the user's cache folder, and send events. A server that people run in closed
 * networks does none of that. This is onnxruntime's own way to say so; it is read once, before anything is made.
 */
const TELEMETRY_VARIABLE = "ORT_DISABLE_TELEMETRY";

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
 * and the settings of the first one count for all.
 */
export class Environment implements Disposable {
  readonly api: OrtApi;
  #pointer: Pointer | undefined;

  /**
   * Telemetry is off, unless the variable ORT_DISABLE_TELEMETRY says otherwise.
   * @throws NativeError
   */
  constructor(api: OrtApi, globalThreadPools?: GlobalThreadPools) {
    this.api = api;
    setNativeVariable(TELEMETRY_VARIABLE, "1");
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

  /**
   * Ends the use of this owner. The library's count of owners is left as it is, so its state stays until the process
   * ends: when the last owner lets go on one thread while another thread makes a new one, `CreateEnv` fails with "Only
   * one instance of LoggingManager" (seen once in 2,000 loads and unloads). Idempotent.
   */
  [Symbol.dispose](): void {
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
