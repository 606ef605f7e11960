import { expect, test } from "bun:test";
import { SharedArena } from "../../../../../src/core/instance/python/shared-arena.ts";
import { HeapSlabs } from "../../../../support/heap-slabs.ts";

const SEGMENT_BYTES = 16_384;

function setup() {
  const slabs = new HeapSlabs();
  const announced: number[] = [];
  const arena = new SharedArena(slabs, SEGMENT_BYTES, (segment, slab) => {
    expect(segment).toBe(announced.length);
    announced.push(slab.byteLength);
  });
  return { slabs, announced, arena };
}

test("blocks of a segment do not touch each other, and have the length that was asked for", () => {
  const { arena, announced } = setup();
  const blocks = [5000, 1, 4096].map((byteLength) => arena.allocate(byteLength));
  expect(blocks.map(({ segment, offset, bytes }) => [segment, offset, bytes.length])).toEqual([
    [0, 0, 5000],
    [0, 8192, 1],
    [0, 12_288, 4096],
  ]);
  expect(announced).toEqual([SEGMENT_BYTES]);
});

test("a segment is announced before its first block, and later ones are twice as large", () => {
  const { arena, announced } = setup();
  for (let i = 0; i < 5; i++) arena.allocate(8192);
  expect(announced).toEqual([SEGMENT_BYTES, 2 * SEGMENT_BYTES]);
});

test("a block larger than any segment gets a segment of its own size", () => {
  const { arena, announced } = setup();
  expect(arena.allocate(100_000).bytes.length).toBe(100_000);
  expect(announced).toEqual([131_072]);
});

test("a block that came back is used again for the same size, so memory does not grow", () => {
  const { arena, announced, slabs } = setup();
  const { segment, offset } = arena.allocate(5000);
  for (let i = 0; i < 1000; i++) {
    arena.free(segment, offset, 5000);
    expect(arena.allocate(4097 + (i % 4000))).toMatchObject({ segment, offset });
  }
  expect(announced).toHaveLength(1);
  expect(slabs.liveCount).toBe(1);
});

test("a refusal of the system leaves the arena usable", () => {
  const { arena, slabs } = setup();
  slabs.limitBytes = SEGMENT_BYTES;
  expect(() => arena.allocate(SEGMENT_BYTES + 1)).toThrow("cannot allocate");
  expect(arena.allocate(100).segment).toBe(0);
});

test("its end frees every segment", () => {
  const { arena, slabs } = setup();
  for (let i = 0; i < 8; i++) arena.allocate(8192);
  expect(slabs.liveCount).toBeGreaterThan(1);
  arena[Symbol.dispose]();
  expect(slabs.liveCount).toBe(0);
});
