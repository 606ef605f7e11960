import { describe, expect, test } from "bun:test";
import type { DescField } from "@bufbuild/protobuf";
import {
  ModelConfigSchema,
  ModelDynamicBatchingSchema,
  ModelInputSchema,
} from "#gen/inference/model_config_pb.ts";
import {
  entryValue,
  faultOfValue,
  fieldValue,
  type MapField,
} from "../../../../src/core/config/config-text-value.ts";

const inputField = (name: "name" | "dims" | "dataType"): DescField => ModelInputSchema.field[name];

describe("faultOfValue", () => {
  test("finds nothing in a right value", () => {
    expect(faultOfValue(fieldValue(inputField("name"), ModelInputSchema, "name"), "'x'")).toBe(
      undefined,
    );
    expect(faultOfValue(fieldValue(inputField("dims"), ModelInputSchema, "dims"), "-1")).toBe(
      undefined,
    );
  });

  test("says what was found and what may stand there", () => {
    const dims = fieldValue(inputField("dims"), ModelInputSchema, "dims");
    expect(faultOfValue(dims, "x")).toBe(
      "found x, expected an integer from -9223372036854775808 to 9223372036854775807",
    );
    const type = fieldValue(inputField("dataType"), ModelInputSchema, "data_type");
    expect(faultOfValue(type, "TYPE_FP8")).toStartWith(
      "found TYPE_FP8 (did you mean 'TYPE_FP16'?)",
    );
    expect(faultOfValue(type, '"TYPE_FP32"')).toStartWith('found "TYPE_FP32", expected one of ');
  });

  test("judges keys and values of map entries by their own types", () => {
    const tags = ModelConfigSchema.field["metricTags"] as MapField;
    expect(faultOfValue(entryValue(tags, ModelConfigSchema, "value", "v"), "1")).toBe(
      "found 1, expected a string in quotes",
    );
    const levels = ModelDynamicBatchingSchema.field["priorityQueuePolicy"] as MapField;
    expect(faultOfValue(entryValue(levels, ModelDynamicBatchingSchema, "key", "k"), "-1")).toBe(
      "found -1, expected an integer from 0 to 18446744073709551615",
    );
  });
});
