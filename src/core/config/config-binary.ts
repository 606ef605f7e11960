import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type ModelConfig as ModelConfigMessage,
  ModelConfigSchema,
} from "#gen/inference/model_config_pb.ts";

/** A configuration as it travels to instance hosts: protobuf's binary form. */
export function configToBinary(message: ModelConfigMessage): Uint8Array {
  return toBinary(ModelConfigSchema, message);
}

/** The way back, in backends. @throws Error for bytes that are no ModelConfig. */
export function configFromBinary(bytes: Uint8Array): ModelConfigMessage {
  return fromBinary(ModelConfigSchema, bytes);
}
