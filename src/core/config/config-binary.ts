import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";

/** The form in which a configuration crosses threads and processes. */
export function configToBinary(message: ModelConfigMessage): Uint8Array {
  return toBinary(ModelConfigSchema, message);
}

/** @param bytes made by {@link configToBinary}; the message keeps no view of them. */
export function configFromBinary(bytes: Uint8Array): ModelConfigMessage {
  return fromBinary(ModelConfigSchema, bytes);
}
