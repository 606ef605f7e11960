import type { Logger } from "../../base/log.ts";
import type { BackendModel } from "./backend-model.ts";

/** Device that an instance runs on. `MODEL` leaves the choice to the backend. */
export interface Device {
  readonly kind: "CPU" | "GPU" | "MODEL";
  /** GPU ordinal; −1 for CPU and MODEL. */
  readonly id: number;
}

/** What a backend needs to open one version of a model. Plain data: it crosses threads and processes. */
export interface OpenModelOptions {
  readonly modelName: string;
  /** Decimal text. */
  readonly modelVersion: string;
  /** Absolute folder of the model (`<repository>/<model>`). */
  readonly modelDirectory: string;
  /** Absolute folder of the version (`<repository>/<model>/<version>`). */
  readonly versionDirectory: string;
  /**
   * The configuration as it stands, in the form of `core/config/config-bytes.ts`. Before auto-completion it may
   * lack inputs, outputs and `max_batch_size`; a backend must not rely on those in `openModel`.
   */
  readonly config: Uint8Array;
  readonly device: Device;
  /** `--backend-config` settings of this backend, global settings included. */
  readonly backendConfig: Readonly<Record<string, string>>;
  /** Where to look for native libraries before all other places; from the command line. */
  readonly libraryPaths: Readonly<Record<string, string>>;
  /** A value an earlier `openModel` of the same version in this process reported as `sharedHandle`. */
  readonly sharedHandle?: number | undefined;
}

/** One runtime in one instance host (a Worker or a child process). Objects never cross hosts. */
export interface Backend extends Disposable {
  /** Opens one version. @throws InferenceError with the runtime's own words; the host stays usable. */
  openModel(options: OpenModelOptions): Promise<BackendModel>;
}

/** What each folder of `src/backends` exports. */
export interface BackendFactory {
  /** Name in configurations. */
  readonly name: string;
  /** Loads the runtime. @throws InferenceError UNSUPPORTED listing the places tried when a library is missing. */
  create(logger: Logger, libraryPaths: Readonly<Record<string, string>>): Promise<Backend>;
}
