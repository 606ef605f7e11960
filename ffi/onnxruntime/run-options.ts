import type { Pointer } from "bun:ffi";
import { pointerFrom } from "../memory.ts";
import type { OrtApi } from "./api.ts";

/** Settings of the runs of one instance, and the flag by which another thread ends a run. */
export class RunOptions implements Disposable {
  readonly #api: OrtApi;
  #pointer: Pointer | undefined;

  /** @throws NativeError */
  constructor(api: OrtApi) {
    this.#api = api;
    this.#pointer = pointerFrom(
      api.obtain("CreateRunOptions", (out) => api.functions.CreateRunOptions(out)),
    );
  }

  /** For `ffi/onnxruntime` only. @throws Error after dispose. */
  get pointer(): Pointer {
    if (this.#pointer === undefined) throw new Error("the run options are disposed");
    return this.#pointer;
  }

  /** @param key as in onnxruntime_run_options_config_keys.h. */
  addConfigEntry(key: string, value: string): void {
    this.#api.check(
      "AddRunConfigEntry",
      this.#api.functions.AddRunConfigEntry(this.pointer, key, value),
    );
  }

  /** Takes back a request to end the run that came too late for the last one. */
  unsetTerminate(): void {
    this.#api.check(
      "RunOptionsUnsetTerminate",
      this.#api.functions.RunOptionsUnsetTerminate(this.pointer),
    );
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    if (this.#pointer === undefined) return;
    this.#api.functions.ReleaseRunOptions(this.#pointer);
    this.#pointer = undefined;
  }
}
