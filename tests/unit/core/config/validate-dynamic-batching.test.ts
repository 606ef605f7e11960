import { describe, expect, test } from "bun:test";
import { ConfigFaults } from "../../../../src/core/config/config-faults.ts";
import { checkDynamicBatching } from "../../../../src/core/config/validate-dynamic-batching.ts";
import { CONFIG_HEAD, configMessage, refusalOf } from "../../../support/config-texts.ts";

function refusal(batching: string): string {
  const message = configMessage(`${CONFIG_HEAD} dynamic_batching { ${batching} }`);
  const faults = new ConfigFaults();
  if (message.schedulingChoice.case === "dynamicBatching") {
    checkDynamicBatching(message, message.schedulingChoice.value, faults);
  }
  return refusalOf(() => faults.throwIfAny());
}

const DELAY = "timeout_action: DELAY";

describe("checkDynamicBatching", () => {
  test.each([
    "",
    "preferred_batch_size: [ 1, 8 ]",
    "preserve_ordering: true",
    "preserve_ordering: true priority_levels: 1 default_priority_level: 1",
    `preserve_ordering: true default_queue_policy { ${DELAY} }`,
    `default_queue_policy { ${DELAY} default_timeout_microseconds: 5 }`,
    "priority_levels: 2 default_priority_level: 2 priority_queue_policy { key: 1 value {} }",
  ])("accepts '%s'", (batching) => {
    expect(refusal(batching)).toBe("");
  });

  test.each([
    [
      "preferred_batch_size: [ 9 ]",
      "dynamic batching preferred size must be <= max batch size for m",
    ],
    ["preferred_batch_size: [ 0 ]", "dynamic batching preferred size must be positive for m"],
    ["preferred_batch_size: [ -9 ]", "dynamic batching preferred size must be positive for m"],
    ["priority_levels: 2", "default priority level must be in range [1, 2] for m"],
    [
      "priority_levels: 2 default_priority_level: 3",
      "default priority level must be in range [1, 2] for m",
    ],
    [
      "priority_levels: 2 default_priority_level: 2 priority_queue_policy { key: 3 value {} }",
      "priority queue policy must have priority level in range [1, 2] for m",
    ],
    [
      "priority_queue_policy { key: 1 value {} }",
      "priority queue policy must have priority level in range [1, 0] for m",
    ],
    [
      "priority_levels: 2 default_priority_level: 2 preserve_ordering: true",
      "Only one priority level is allowed when 'preserve_ordering' is true for m",
    ],
    [
      `preserve_ordering: true default_queue_policy { ${DELAY} default_timeout_microseconds: 5 }`,
      "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
    ],
    [
      `preserve_ordering: true priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 value { ${DELAY} default_timeout_microseconds: 5 } }`,
      "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
    ],
  ])("refuses '%s'", (batching, expected) => {
    expect(refusal(batching)).toBe(expected);
  });
});
