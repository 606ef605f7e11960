import { expect, test } from "bun:test";
import {
  deadlineNs,
  type QueuePolicy,
  UNLIMITED,
} from "../../../../src/core/scheduler/queue-policy.ts";

const NOW_NS = 1000;
const policy: QueuePolicy = {
  ...UNLIMITED,
  defaultTimeoutNs: 5_000_000,
  allowsTimeoutOverride: true,
};

test("without a default nothing expires, whatever the request says", () => {
  expect(deadlineNs(UNLIMITED, 0, NOW_NS)).toBe(Number.POSITIVE_INFINITY);
  expect(deadlineNs({ ...UNLIMITED, allowsTimeoutOverride: true }, 7, NOW_NS)).toBe(
    Number.POSITIVE_INFINITY,
  );
});

test("a request shortens the default where that is allowed, and never lengthens it", () => {
  expect(deadlineNs(policy, 0, NOW_NS)).toBe(NOW_NS + 5_000_000);
  expect(deadlineNs(policy, 3000, NOW_NS)).toBe(NOW_NS + 3_000_000);
  expect(deadlineNs(policy, 9000, NOW_NS)).toBe(NOW_NS + 5_000_000);
  expect(deadlineNs({ ...policy, allowsTimeoutOverride: false }, 3000, NOW_NS)).toBe(
    NOW_NS + 5_000_000,
  );
});
