import { describe, expect, test } from "bun:test";
import {
  type BatchRules,
  type FormerDecision,
  formBatch,
} from "../../../../src/core/scheduler/batch-former.ts";

const MS = 1_000_000;

function decide(
  rules: Partial<BatchRules>,
  sizes: readonly (number | [number, string])[],
  waitedNs = 0,
): FormerDecision {
  const pending = sizes.map((size) =>
    typeof size === "number"
      ? { batchSize: size, mergeKey: "" }
      : { batchSize: size[0], mergeKey: size[1] },
  );
  const whole = { maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayNs: 0, ...rules };
  return formBatch(whole, pending, 0, waitedNs);
}

const take = (count: number) => ({ kind: "take", count });

describe("without a delay", () => {
  test("everything that waits leaves together", () => {
    expect(decide({}, [1, 1, 1])).toMatchObject(take(3));
  });

  test("the largest preferred size that can be reached leaves first", () => {
    expect(decide({ preferredBatchSizes: [2, 4] }, [1, 1, 1, 1, 1])).toMatchObject(take(4));
    expect(decide({ preferredBatchSizes: [2, 4] }, [1, 1, 1])).toMatchObject(take(2));
  });

  test("a batch never passes the maximum", () => {
    expect(decide({}, [3, 3, 3])).toMatchObject(take(2));
    expect(decide({}, [1, 8])).toMatchObject(take(1));
  });

  test("a request above the preferred sizes runs alone", () => {
    expect(decide({ preferredBatchSizes: [2] }, [6, 1])).toMatchObject(take(1));
    expect(decide({ preferredBatchSizes: [4] }, [8, 1])).toMatchObject(take(1));
  });

  test("a request that would pass the largest preferred size stays behind", () => {
    expect(decide({ preferredBatchSizes: [4] }, [3, 3, 1])).toMatchObject(take(1));
    expect(decide({ preferredBatchSizes: [2, 4] }, [1, 1, 3])).toMatchObject(take(2));
  });

  test("a request of another shape ends the batch", () => {
    expect(
      decide({}, [
        [1, "a"],
        [1, "a"],
        [1, "b"],
        [1, "a"],
      ]),
    ).toMatchObject(take(2));
  });

  test("a request of zero rows still takes a place", () => {
    expect(decide({}, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).toMatchObject(take(8));
  });
});

describe("with a delay", () => {
  const rules = { maxQueueDelayNs: 10 * MS };

  test("fewer than the preferred size wait until the oldest has waited the delay", () => {
    expect(decide(rules, [1, 1], 3 * MS)).toEqual({ kind: "wait", untilNs: 10 * MS });
    expect(decide(rules, [1, 1], 10 * MS)).toMatchObject(take(2));
  });

  test("a preferred size leaves before the delay is over", () => {
    expect(decide({ ...rules, preferredBatchSizes: [4] }, [1, 1, 1, 1])).toMatchObject(take(4));
  });

  test("after the delay all leave, also beyond a preferred size", () => {
    expect(decide({ ...rules, preferredBatchSizes: [2] }, [1, 1, 1], 11 * MS)).toMatchObject(
      take(3),
    );
  });

  test("a batch that cannot grow does not wait", () => {
    expect(decide(rules, [5, 5])).toMatchObject(take(1));
    expect(
      decide(rules, [
        [1, "a"],
        [1, "b"],
      ]),
    ).toMatchObject(take(1));
  });
});

test("a batch is full when no later request could join it", () => {
  const isFull = (rules: Partial<BatchRules>, sizes: Parameters<typeof decide>[1]) => {
    const decision = decide(rules, sizes);
    return decision.kind === "take" && decision.isFull;
  };
  expect(isFull({}, [4, 4])).toBe(true);
  expect(isFull({}, [5, 5])).toBe(true);
  expect(
    isFull({}, [
      [1, "a"],
      [1, "b"],
    ]),
  ).toBe(true);
  expect(isFull({}, [4, 3])).toBe(false);
  expect(isFull({ preferredBatchSizes: [2] }, [1, 1])).toBe(false);
  expect(isFull({ maxBatchSize: 1, preferredBatchSizes: [] }, [1])).toBe(true);
});

test("an empty queue gives no batch", () => {
  expect(decide({}, [])).toEqual({ kind: "empty" });
});

test("the former looks at no more requests than fit a batch", () => {
  let seen = 0;
  const rules = { maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayNs: 0 };
  formBatch(
    rules,
    (function* () {
      for (; ; seen++) yield { batchSize: 1, mergeKey: "" };
    })(),
    0,
    0,
  );
  expect(seen).toBeLessThanOrEqual(8);
});
