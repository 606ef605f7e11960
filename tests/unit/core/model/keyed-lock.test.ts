import { expect, test } from "bun:test";
import { KeyedLock } from "../../../../src/core/model/keyed-lock.ts";

test("tasks of one key run one after the other, in order, whatever became of the earlier", async () => {
  const lock = new KeyedLock();
  const steps: string[] = [];
  const task = (name: string, fails = false) =>
    lock.run("k", async () => {
      steps.push(`${name} begins`);
      await Promise.resolve();
      steps.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    });
  const results = await Promise.allSettled([task("a"), task("b", true), task("c")]);
  expect(steps).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("tasks of different keys do not wait for each other", async () => {
  const lock = new KeyedLock();
  const holding = Promise.withResolvers<void>();
  const held = lock.run("a", () => holding.promise);
  expect(await lock.run("b", async () => "b")).toBe("b");
  holding.resolve();
  await held;
});
