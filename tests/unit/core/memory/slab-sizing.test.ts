import { describe, expect, test } from "bun:test";
import { MIN_SLAB_BYTES, SlabSizing } from "../../../../src/core/memory/slab-sizing.ts";

const MEGABYTE = 1024 * 1024;

describe("slab sizing", () => {
  test("grows at once, with headroom, in whole steps", () => {
    const sizing = new SlabSizing();
    expect(sizing.next(0, 1)).toBe(MIN_SLAB_BYTES);
    const grown = sizing.next(MIN_SLAB_BYTES, 100_000);
    expect(grown).toBeGreaterThanOrEqual(125_000);
    expect(grown % MIN_SLAB_BYTES).toBe(0);
  });

  test("keeps a slab of moderate size whatever the batches need", () => {
    const sizing = new SlabSizing();
    for (let i = 0; i < 1000; i++) expect(sizing.next(8 * MEGABYTE, 10)).toBe(8 * MEGABYTE);
  });

  test("a large slab shrinks to the recent peak after many small batches", () => {
    const sizing = new SlabSizing();
    const sizes = Array.from({ length: 32 }, (_, i) =>
      sizing.next(100 * MEGABYTE, i === 3 ? 5e6 : 10),
    );
    expect(new Set(sizes.slice(0, 31))).toEqual(new Set([100 * MEGABYTE]));
    expect(sizes[31]).toBeGreaterThanOrEqual(6.25e6);
    expect(sizes[31]).toBeLessThan(7e6);
  });

  test("one large batch now and then keeps a large slab", () => {
    const sizing = new SlabSizing();
    for (let i = 0; i < 200; i++) {
      const neededBytes = i % 20 === 0 ? 90 * MEGABYTE : 10;
      expect(sizing.next(100 * MEGABYTE, neededBytes)).toBe(100 * MEGABYTE);
    }
  });
});
