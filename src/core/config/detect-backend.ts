import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { KnownModelForm } from "./backend-names.ts";
import { ENSEMBLE_PLATFORM, KNOWN_MODEL_FORMS, PLATFORM_ALIASES } from "./backend-names.ts";

/**
 * Fills in `backend`, `platform` and `default_model_filename` from each other and from the files of the first
 * version directory. A name of the form `<model>.<backend>` is the last resort.
 *
 * @param message is changed.
 * @throws InferenceError INVALID_ARG when nothing tells the backend.
 * @see Triton docs, "Auto-Generated Model Configuration".
 */
export async function detectBackend(
  message: ModelConfigMessage,
  modelName: string,
  modelDirectory: string,
): Promise<void> {
  message.platform = PLATFORM_ALIASES[message.platform] ?? message.platform;
  if (
    message.platform === ENSEMBLE_PLATFORM ||
    message.schedulingChoice.case === "ensembleScheduling"
  )
    return;
  const files = await filesOfFirstVersion(modelDirectory);
  const form = formOf(message, files);
  if (form !== undefined) {
    message.backend = form.backend;
    if (message.platform === "") message.platform = form.platform;
    if (message.defaultModelFilename === "") message.defaultModelFilename = form.filename;
    return;
  }
  if (message.backend !== "" || message.platform !== "" || message.defaultModelFilename !== "")
    return;
  const dot = modelName.indexOf(".");
  if (dot < 0 || dot === modelName.length - 1) {
    throw new InferenceError(
      "INVALID_ARG",
      `Invalid model name: Could not determine backend for model '${modelName}' with no backend in model ` +
        "configuration. Expected model name of the form 'model.<backend_name>'.",
    );
  }
  message.backend = modelName.slice(dot + 1);
  message.defaultModelFilename = `model.${message.backend}`;
}

/** The known form that a configuration and the files speak of. */
function formOf(
  message: ModelConfigMessage,
  files: ReadonlySet<string>,
): KnownModelForm | undefined {
  const { backend, platform, defaultModelFilename } = message;
  const candidates = KNOWN_MODEL_FORMS.filter(
    (form) =>
      (backend === "" || form.backend === backend) &&
      (platform === "" || form.platform === platform),
  );
  const byGivenName = candidates.find((form) => form.filename === defaultModelFilename);
  if (byGivenName !== undefined) return byGivenName;
  if (backend === "" && platform === "" && defaultModelFilename !== "") return undefined;
  const byFile = candidates.find((form) => files.has(form.filename));
  if (byFile !== undefined || (backend === "" && platform === "")) return byFile;
  // The backend's usual form: SavedModel for TensorFlow, TorchScript for PyTorch.
  return candidates[0];
}

/**
 * What lies in the version directory that comes first in lexical order ("10" before "2"); empty without one. Unlike
 * Triton, folders that are no versions, such as `.ipynb_checkpoints`, are passed over.
 */
async function filesOfFirstVersion(modelDirectory: string): Promise<ReadonlySet<string>> {
  try {
    const names = await readdir(modelDirectory);
    for (const version of names.filter((name) => /^\d+$/.test(name)).sort()) {
      const files = await namesIn(join(modelDirectory, version));
      if (files !== undefined) return new Set(files);
    }
  } catch {
    // A directory that is not there has no files; that it is not there is for the repository to report.
  }
  return new Set();
}

/** @returns undefined for what is no directory. */
async function namesIn(path: string): Promise<readonly string[] | undefined> {
  try {
    return await readdir(path);
  } catch {
    return undefined;
  }
}
