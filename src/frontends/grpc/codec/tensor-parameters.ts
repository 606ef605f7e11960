import { InferenceError } from "../../../base/error.ts";
import type { ParameterMap } from "./request-parameters.ts";

const SHARED_MEMORY_KEYS = [
  "shared_memory_region",
  "shared_memory_offset",
  "shared_memory_byte_size",
] as const;

/**
 * Refuses tensors that lie in a client's shared memory: this server keeps no such regions.
 *
 * @param direction for the message.
 * @throws InferenceError UNSUPPORTED naming the tensor.
 */
export function refuseSharedMemory(
  direction: "input" | "output",
  name: string,
  map: ParameterMap,
): void {
  if (!SHARED_MEMORY_KEYS.some((key) => Object.hasOwn(map, key))) return;
  throw new InferenceError(
    "UNSUPPORTED",
    `${direction} '${name}' is said to be in shared memory, but this server does not support shared memory ` +
      "regions of clients; send tensors in the request",
  );
}

/**
 * The `classification` of a requested output; 0 where it is not asked for. Other parameters mean nothing here, as in
 * Triton.
 *
 * @throws InferenceError INVALID_ARG unless it is a positive int64.
 */
export function classificationCountOf(outputName: string, map: ParameterMap): number {
  const choice = map["classification"]?.parameterChoice;
  if (choice === undefined) return 0;
  if (choice.case !== "int64Param") {
    throw new InferenceError(
      "INVALID_ARG",
      `invalid value type for 'classification' parameter of output '${outputName}', expected int64_param.`,
    );
  }
  if (choice.value <= 0n) {
    throw new InferenceError(
      "INVALID_ARG",
      `invalid value for 'classification' parameter of output '${outputName}', expected > 0, got ${choice.value}`,
    );
  }
  return Number(choice.value);
}
