import { expect, test } from "bun:test";
import { configFromBinary, configToBinary } from "../../../../src/core/config/config-binary.ts";
import { configMessage, GOOD_CONFIG } from "../../../support/config-texts.ts";

test("a configuration comes back from its binary form, as a message of its own", () => {
  const message = configMessage(`${GOOD_CONFIG} dynamic_batching { preferred_batch_size: 2 }`);
  const copy = configFromBinary(configToBinary(message));
  expect(copy).toEqual(message);
  copy.input.pop();
  expect(message.input.length).toBe(1);
});
