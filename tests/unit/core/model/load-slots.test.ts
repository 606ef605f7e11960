import { expect, test } from "bun:test";
import { LoadSlots } from "../../../../src/core/model/load-slots.ts";
import { settle } from "../../../support/settle.ts";

test("no more tasks run at once than there are slots, and a failed one gives its slot back", async () => {
  const slots = new LoadSlots(2);
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const tasks = Array.from({ length: 5 }, (_, i) =>
    slots.run(async () => {
      running++;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
      if (i === 0) throw new Error("failed");
    }),
  );
  const settled = Promise.allSettled(tasks);
  for (let i = 0; i < 5; i++) {
    await settle();
    ends[i]?.();
  }
  const results = await settled;
  expect(results.map((result) => result.status)).toEqual([
    "rejected",
    "fulfilled",
    "fulfilled",
    "fulfilled",
    "fulfilled",
  ]);
  expect([most, running]).toEqual([2, 0]);
});

test("there is always at least one slot", async () => {
  expect(await new LoadSlots(0).run(async () => "ran")).toBe("ran");
});
