import { CString } from "bun:ffi";
import { pointerFrom, readPointer, WordArray } from "../memory.ts";
import type { OrtApi } from "./api.ts";

/**
 * Names of the execution providers that the library was built with, `CPUExecutionProvider` last. Those that live in
 * libraries of their own (CUDA, TensorRT) are listed even where these files are missing, so this is for messages only.
 * @throws NativeError
 */
export function builtInProviders(api: OrtApi): string[] {
  const out = new WordArray(2);
  // The second out-parameter is an int: it fills the low half of its word.
  const count = pointerFrom(out.address + 8);
  api.check("GetAvailableProviders", api.functions.GetAvailableProviders(out.address, count));
  const list = out.get(0);
  const names: string[] = [];
  for (let i = 0; i < out.get(1); i++) {
    names.push(new CString(pointerFrom(readPointer(list, i * 8))).toString());
  }
  api.check(
    "ReleaseAvailableProviders",
    api.functions.ReleaseAvailableProviders(pointerFrom(list), names.length),
  );
  return names;
}
