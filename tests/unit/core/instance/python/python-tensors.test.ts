import { describe, expect, test } from "bun:test";
import { INLINE_LIMIT_BYTES } from "../../../../../src/core/instance/python/python-frames.ts";
import { PythonTensors } from "../../../../../src/core/instance/python/python-tensors.ts";
import type { Slab } from "../../../../../src/core/memory/slab.ts";
import { HeapSlabs } from "../../../../support/heap-slabs.ts";

const FP32 = 11;

function setup() {
  const slabs = new HeapSlabs();
  const segments: Slab[] = [];
  const tensors = new PythonTensors(slabs, 1 << 17, (_, slab) => segments.push(slab));
  return { slabs, segments, tensors };
}

function outgoing(nameOrIndex: string | number, byteLength: number, fill: number) {
  const bytes = new Uint8Array(byteLength).fill(fill);
  return { nameOrIndex, datatype: "UINT8", shape: [byteLength], bytes } as const;
}

describe("place", () => {
  test("small tensors follow each other in the tail", () => {
    const { tensors, segments } = setup();
    const tail: Uint8Array[] = [];
    const placed = tensors.place([outgoing("a", 3, 1), outgoing(1, 2, 2)], tail, 10, 1);
    expect(placed.lease).toBeUndefined();
    expect(placed.entries.map(([name, , shape, ...place]) => [name, shape, place])).toEqual([
      ["a", [3], [-1, 10, 3]],
      [1, [2], [-1, 13, 2]],
    ]);
    expect(Buffer.concat(tail)).toEqual(Buffer.of(1, 1, 1, 2, 2));
    expect(segments).toEqual([]);
  });

  test("large tensors lie in one region at multiples of 64, small ones stay in the tail", () => {
    const { tensors, segments } = setup();
    const large = INLINE_LIMIT_BYTES + 1;
    const tail: Uint8Array[] = [];
    const three = [outgoing("a", large, 1), outgoing("b", 4, 2), outgoing("c", large, 3)];
    const { entries, lease } = tensors.place(three, tail, 0, 1);
    expect(entries.map(([, , , where, offset]) => [where, offset])).toEqual([
      [0, 0],
      [-1, 0],
      [0, INLINE_LIMIT_BYTES + 64],
    ]);
    expect(lease).toEqual([0, 0, 2 * (INLINE_LIMIT_BYTES + 64)]);
    const memory = segments[0]?.bytes;
    expect([memory?.[large - 1], memory?.[INLINE_LIMIT_BYTES + 64]]).toEqual([1, 3]);
  });

  test("a region is taken until its lease is released, and unknown leases are ignored", () => {
    const { tensors } = setup();
    const place = (key: number) =>
      tensors.place([outgoing("a", INLINE_LIMIT_BYTES + 1, 1)], [], 0, key).lease;
    const [first, second] = [place(1), place(2)];
    expect(second).not.toEqual(first);
    tensors.release([99]);
    tensors.release([1]);
    expect(place(3)).toEqual(first);
    tensors.release([1]);
    expect(place(4)).not.toEqual(first);
  });
});

describe("read", () => {
  test("a tensor in the tail is a view of it, with no block to return", () => {
    const { tensors } = setup();
    const freed: [number, number][] = [];
    const tail = Uint8Array.of(9, 0, 0, 128, 63);
    const tensor = tensors.read(["y", FP32, [1], -1, 1, 4], tail, freed);
    expect(tensor).toMatchObject({ name: "y", datatype: "FP32", shape: [1] });
    expect(tensor.bytes.buffer).toBe(tail.buffer);
    expect(freed).toEqual([]);
  });

  test("a tensor in a segment of the process is a view of it, and its block is to be returned", () => {
    const { tensors, slabs } = setup();
    const theirs = slabs.allocate(4096);
    theirs.bytes.fill(7, 64, 68);
    // The address names heap slabs, the path those of another process.
    slabs.attach = () => theirs;
    tensors.map(5, "/proc/1/fd/9", 4096);
    const freed: [number, number][] = [];
    const tensor = tensors.read(["y", FP32, [1], 5, 64, 4], new Uint8Array(0), freed);
    expect([...tensor.bytes]).toEqual([7, 7, 7, 7]);
    expect(freed).toEqual([[5, 64]]);
  });

  test("an unknown datatype and an unknown segment are refused by name", () => {
    const { tensors } = setup();
    const none = new Uint8Array(0);
    expect(() => tensors.read(["y", 99, [1], -1, 0, 4], none, [])).toThrow(
      "output 'y' has the unknown datatype 99",
    );
    expect(() => tensors.read(["y", FP32, [1], 3, 0, 4], none, [])).toThrow(
      "segment 3 was never announced",
    );
  });
});

test("its end gives back all memory", () => {
  const { tensors, slabs } = setup();
  tensors.place([outgoing("a", 1 << 20, 1)], [], 0, 1);
  expect(slabs.liveCount).toBe(1);
  tensors[Symbol.dispose]();
  expect(slabs.liveCount).toBe(0);
});
