import { OrtApi } from "#ffi/onnxruntime/api.ts";
import { openOnnxRuntime } from "#ffi/onnxruntime/open-library.ts";

/**
 * onnxruntime for tests; undefined, with the printed reason, where this machine has none.
 * @param what the tests that are skipped then.
 */
export async function onnxruntimeOrSkip(what: string): Promise<OrtApi | undefined> {
  try {
    return await openOnnxRuntime();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`skipped: ${what}: ${reason}\n`);
    return undefined;
  }
}

/** Where tests that cannot be skipped any more (they run inside a skipped block) get it. */
export function needed(api: OrtApi | undefined): OrtApi {
  if (!(api instanceof OrtApi)) throw new Error("this test needs onnxruntime");
  return api;
}
