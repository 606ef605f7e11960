import { describe, expect, test } from "bun:test";
import type { DescField } from "@bufbuild/protobuf";
import {
  DataTypeSchema,
  ModelConfigSchema,
  ModelInputSchema,
  ModelQueuePolicySchema,
  ModelSequenceBatching_ControlSchema,
} from "#gen/inference/model_config_pb.ts";
import {
  enumName,
  shortName,
  unknownEnumWords,
  unknownFieldWords,
  valueWords,
} from "../../../../src/core/config/field-words.ts";

describe("words about fields", () => {
  test.each([
    [ModelConfigSchema.field["maxBatchSize"], "an integer from -2147483648 to 2147483647"],
    [ModelInputSchema.field["optional"], "true or false"],
    [ModelInputSchema.field["reshape"], "a block { … } of ModelTensorReshape"],
    [ModelConfigSchema.field["input"], "a block { … } of ModelInput"],
    [ModelConfigSchema.field["parameters"], "an entry { key: … value: … }"],
    [ModelQueuePolicySchema.field["timeoutAction"], "one of REJECT, DELAY"],
    [ModelSequenceBatching_ControlSchema.field["fp32FalseTrue"], "a number"],
  ])("say what a value may be: %#", (field, expected) => {
    expect(valueWords(field as DescField)).toBe(expected);
  });

  test("propose the field that was probably meant, or list all", () => {
    expect(unknownFieldWords("dim", ModelInputSchema)).toBe(
      "unknown field 'dim' in ModelInput; did you mean 'dims'?",
    );
    expect(unknownFieldWords("zzz", ModelQueuePolicySchema)).toBe(
      "unknown field 'zzz' in ModelQueuePolicy; allowed are timeout_action, default_timeout_microseconds, " +
        "allow_timeout_override, max_queue_size",
    );
  });

  test("list enum values", () => {
    const field = ModelQueuePolicySchema.field["timeoutAction"] as DescField;
    expect(unknownEnumWords("5", field)).toBe("found 5, expected one of REJECT, DELAY");
  });

  test("name messages without their package and enum values by name", () => {
    expect(shortName(ModelSequenceBatching_ControlSchema)).toBe("ModelSequenceBatching.Control");
    expect(enumName(DataTypeSchema, 11)).toBe("TYPE_FP32");
    expect(enumName(DataTypeSchema, 99)).toBe("99");
  });
});
