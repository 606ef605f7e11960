/** What Triton knows of a backend by its name. */
export interface KnownModelForm {
  /** "" where the backend has no platform name. */
  readonly platform: string;
  readonly backend: string;
  /** Default file (or folder) in the version directory. */
  readonly filename: string;
}

/** The platform of ensembles, which have no backend. */
export const ENSEMBLE_PLATFORM = "ensemble";

/**
 * Forms of models in the order in which a version directory is searched for them.
 * @see Triton docs, "Model Configuration", table of platforms and backends; "Auto-Generated Model Configuration".
 */
export const KNOWN_MODEL_FORMS: readonly KnownModelForm[] = [
  { platform: "tensorflow_savedmodel", backend: "tensorflow", filename: "model.savedmodel" },
  { platform: "tensorflow_graphdef", backend: "tensorflow", filename: "model.graphdef" },
  { platform: "tensorrt_plan", backend: "tensorrt", filename: "model.plan" },
  { platform: "onnxruntime_onnx", backend: "onnxruntime", filename: "model.onnx" },
  { platform: "", backend: "openvino", filename: "model.xml" },
  { platform: "pytorch_libtorch", backend: "pytorch", filename: "model.pt" },
  { platform: "torch_aoti", backend: "pytorch", filename: "model.pt2" },
  { platform: "", backend: "python", filename: "model.py" },
];

/** Platform names that stand for another. */
export const PLATFORM_ALIASES: Readonly<Record<string, string>> = { libtorch: "pytorch_libtorch" };

/** Platforms that a backend may have; undefined where any will do. */
export function platformsOf(backend: string): readonly string[] | undefined {
  const platforms = KNOWN_MODEL_FORMS.filter(
    (form) => form.backend === backend && form.platform !== "",
  ).map(({ platform }) => platform);
  return platforms.length === 0 ? undefined : platforms;
}
