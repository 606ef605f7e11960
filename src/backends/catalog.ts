import { InferenceError } from "../base/error.ts";
import type { BackendFactory } from "../core/backend/backend.ts";

/** Every backend there is, loaded when a model first asks for it. The only place that names them. */
const BACKENDS: Readonly<Record<string, () => Promise<BackendFactory>>> = {
  onnxruntime: async () => (await import("./onnxruntime/backend.ts")).ONNXRUNTIME_BACKEND,
  identity: async () => (await import("./identity/backend.ts")).IDENTITY_BACKEND,
};

/** Names that a configuration may give as `backend`. */
export const BACKEND_NAMES: readonly string[] = Object.keys(BACKENDS);

/** @throws InferenceError INVALID_ARG, in Triton's words, for a name that is not in the catalog. */
export async function backendFactory(name: string): Promise<BackendFactory> {
  const load = Object.hasOwn(BACKENDS, name) ? BACKENDS[name] : undefined;
  if (load === undefined) {
    throw new InferenceError(
      "INVALID_ARG",
      `unable to find backend library for backend '${name}', try specifying runtime on the ` +
        `model configuration; known backends are: ${BACKEND_NAMES.join(", ")}`,
    );
  }
  return await load();
}
