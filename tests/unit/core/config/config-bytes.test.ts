import { expect, test } from "bun:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { configFromBytes, configToBytes } from "../../../../src/core/config/config-bytes.ts";
import { configMessage, GOOD_CONFIG } from "../../../support/config-texts.ts";

test("a configuration comes back as a message of its own", () => {
  const message = configMessage(`${GOOD_CONFIG} dynamic_batching { preferred_batch_size: 2 }`);
  const copy = configFromBytes(configToBytes(message));
  expect(copy).toEqual(message);
  copy.input.pop();
  expect(message.input.length).toBe(1);
});

test("what JSON has no form for comes back exactly", () => {
  const message = create(ModelConfigSchema, {
    name: "\u0000n5",
    input: [{ name: "x", dims: [-1n, 2n ** 62n] }],
    metricTags: { $typeName: "\u0000", "\u0000": "" },
    schedulingChoice: {
      case: "sequenceBatching",
      value: {
        strategyChoice: {
          case: "direct",
          value: { minimumSlotUtilization: Number.POSITIVE_INFINITY },
        },
      },
    },
    $unknown: [{ no: 999, wireType: 2, data: new Uint8Array([1, 255]) }],
  });
  const copy = configFromBytes(configToBytes(message));
  expect(copy).toEqual(message);
  expect(toBinary(ModelConfigSchema, copy)).toEqual(toBinary(ModelConfigSchema, message));
});
