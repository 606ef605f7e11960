import { expect, test } from "bun:test";
import { SharedSlabs } from "../../../ffi/shared-memory.ts";
import { NativeSlabs } from "../../../ffi/slab.ts";

const kinds = [
  { name: "process memory", slabs: new NativeSlabs() },
  { name: "shared memory", slabs: new SharedSlabs() },
];

for (const { name, slabs } of kinds) {
  test(`${name}: what one side writes the other side reads`, () => {
    const made = slabs.allocate(65536);
    const seen = slabs.attach(made.handle);
    made.words[3] = 1.5;
    made.bytes[65535] = 200;
    expect(seen.words[3]).toBe(1.5);
    expect(seen.bytes[65535]).toBe(200);
    seen.dispose();
    made.dispose();
  });

  test(`${name}: slabs are 64-byte aligned`, () => {
    const made = [100, 4096, 1 << 20].map((byteLength) => slabs.allocate(byteLength));
    expect(made.map((slab) => slab.address % 64)).toEqual([0, 0, 0]);
    for (const slab of made) slab.dispose();
  });

  test(`${name}: views are empty after the end of a slab, and ending it twice is harmless`, () => {
    const slab = slabs.allocate(4096);
    const view = slab.bytes.subarray(10, 20);
    slab.dispose();
    slab.dispose();
    expect(view.length).toBe(0);
    expect(slab.bytes.length).toBe(0);
  });

  test(`${name}: an impossible size is refused with the size`, () => {
    expect(() => slabs.allocate(2 ** 52)).toThrow(String(2 ** 52));
  });
}

test("shared memory of a process that is gone cannot be attached", () => {
  const handle = { address: 4096, byteLength: 4096, path: "/proc/2147483646/fd/3" };
  expect(() => new SharedSlabs().attach(handle)).toThrow("/proc/2147483646/fd/3 failed: errno 2");
});

test("a slab leaves no descriptor behind", async () => {
  const { readdirSync } = await import("node:fs");
  const slabs = new SharedSlabs();
  const before = readdirSync("/proc/self/fd").length;
  for (let i = 0; i < 50; i++) {
    const made = slabs.allocate(4096);
    slabs.attach(made.handle).dispose();
    made.dispose();
  }
  expect(readdirSync("/proc/self/fd").length).toBe(before);
});
