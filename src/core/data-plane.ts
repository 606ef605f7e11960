import type { Model } from "./model/model.ts";
import type { InferenceRequest } from "./request/inference-request.ts";

/** Name, version and extensions of the server. */
export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** The one entrance to inference for all frontends. Every method throws InferenceError; see reference/grpc.md §4 for texts. */
export interface DataPlane {
  readonly metadata: ServerMetadata;
  /** False while starting and from the moment of shutdown. */
  readonly isLive: boolean;
  /** Triton's server readiness: live, and under strict readiness every model is READY or deliberately unloaded. */
  readonly isReady: boolean;
  /**
   * The model that a name and version text stand for: the highest READY version where the text is empty.
   * @throws InferenceError NOT_FOUND, UNAVAILABLE or INVALID_ARG with Triton's texts.
   */
  model(name: string, versionText: string): Model;
  /**
   * Whether a model can serve just now: false where it is known and not READY, or has no instance that works.
   * @throws InferenceError NOT_FOUND for an unknown model or version, INVALID_ARG for a bad version text.
   */
  isModelReady(name: string, versionText: string): boolean | Promise<boolean>;
  /** READY versions of one model, ascending, as text. @throws like {@link model}. */
  readyVersions(name: string): readonly string[];
  /**
   * Models whose statistics the given names select ("" = all), by name, then version.
   * @throws InferenceError INVALID_ARG `requested model '<m>' is not available`.
   */
  statisticsModels(name: string, versionText: string): readonly Model[];
  /**
   * Starts one inference. On return the core owns the request and its sink will get exactly one end, later.
   * @throws InferenceError when it is refused at once; the sink is then not touched.
   */
  infer(model: Model, request: InferenceRequest): void;
  /** Requests accepted and not ended, all models. */
  readonly inflightCount: number;
}
