import { describe, expect, test } from "bun:test";
import { ByteBudget, type ByteHolder } from "../../../../../src/frontends/grpc/wire/byte-budget.ts";
import { eventually } from "../../../../support/eventually.ts";

class Holder implements ByteHolder {
  movedBytes = 0;
  isReserved = false;
  isStalled = false;

  onReserved(): void {
    this.isReserved = true;
  }

  onStalled(): void {
    this.isStalled = true;
  }
}

describe("ByteBudget", () => {
  test("grants what there is room for and makes the rest wait, in order", () => {
    const budget = new ByteBudget(100);
    const [a, b, c, d] = [new Holder(), new Holder(), new Holder(), new Holder()];
    expect(budget.reserve(a, 60)).toBe(true);
    expect(budget.reserve(b, 50)).toBe(false);
    // There would be room, but a small one must not overtake for ever.
    expect(budget.reserve(c, 10)).toBe(false);
    budget.release(a);
    expect([b.isReserved, c.isReserved, budget.usedBytes]).toEqual([true, true, 60]);
    expect(budget.reserve(d, 40)).toBe(true);
    for (const holder of [b, c, d]) budget.release(holder);
    expect(budget.usedBytes).toBe(0);
  });

  test("lets a message in alone that is larger than the whole budget", () => {
    const budget = new ByteBudget(100);
    const [small, large] = [new Holder(), new Holder()];
    budget.reserve(small, 1);
    expect(budget.reserve(large, 1000)).toBe(false);
    budget.release(small);
    expect(large.isReserved).toBe(true);
    budget.release(large);
  });

  test("forgets a holder that gives up waiting, and one that is released twice", () => {
    const budget = new ByteBudget(100);
    const [a, b, c] = [new Holder(), new Holder(), new Holder()];
    budget.reserve(a, 100);
    budget.reserve(b, 100);
    budget.reserve(c, 100);
    budget.release(b);
    budget.release(a);
    budget.release(a);
    expect([b.isReserved, c.isReserved]).toEqual([false, true]);
    budget.release(c);
    expect(budget.usedBytes).toBe(0);
  });

  test("counts added bytes, room or not, and releases them with the rest", () => {
    const budget = new ByteBudget(100);
    const holder = new Holder();
    budget.reserve(holder, 80);
    budget.add(holder, 80);
    expect(budget.usedBytes).toBe(160);
    budget.release(holder);
    expect(budget.usedBytes).toBe(0);
  });

  test("ends holders that stand still while others wait, and only those", async () => {
    const budget = new ByteBudget(100, 5);
    const [still, moving, computing, waiting] = [
      new Holder(),
      new Holder(),
      new Holder(),
      new Holder(),
    ];
    computing.movedBytes = Number.NaN;
    budget.reserve(still, 40);
    budget.reserve(moving, 30);
    budget.reserve(computing, 30);
    budget.reserve(waiting, 10);
    const motion = setInterval(() => moving.movedBytes++, 1);
    await eventually(() => still.isStalled);
    clearInterval(motion);
    expect([moving.isStalled, computing.isStalled]).toEqual([false, false]);
    for (const holder of [still, moving, computing, waiting]) budget.release(holder);
  });
});
