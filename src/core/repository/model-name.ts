import { InferenceError } from "../../base/error.ts";

/**
 * Refuses names that cannot be one directory of a repository, before anything is looked up: the answer must not
 * tell whether a path outside the repository exists.
 *
 * @throws InferenceError INVALID_ARG.
 */
export function checkModelName(name: string): void {
  if (name.trim() === "") {
    throw new InferenceError(
      "INVALID_ARG",
      "Model name cannot be empty. Please enter a valid name to deploy.",
    );
  }
  if (name === "." || name.includes("..") || name.includes("/") || name.includes("\0")) {
    throw new InferenceError(
      "INVALID_ARG",
      `Invalid model name ${JSON.stringify(name)}: a model is one directory of the repository, ` +
        "so its name must hold no path separator, no NUL and no '..'",
    );
  }
}
