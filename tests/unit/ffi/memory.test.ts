import { CString } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import {
  addressOf,
  CStrings,
  copyMemory,
  NativeBlock,
  pointerFrom,
  readPointer,
  WordArray,
} from "#ffi/memory.ts";

describe("words", () => {
  test("hold addresses, counts and negative numbers", () => {
    const words = new WordArray(4);
    words.setAll([0x7fff_1234_5678, -1, 0]);
    words.set(3, Number.MAX_SAFE_INTEGER);
    expect(words.take(4)).toEqual([0x7fff_1234_5678, -1, 0, Number.MAX_SAFE_INTEGER]);
    expect(readPointer(words.address)).toBe(0x7fff_1234_5678);
  });

  test("refuse a list that does not fit", () => {
    expect(() => new WordArray(1).setAll([1, 2])).toThrow(new RangeError("2 values for 1 words"));
  });

  test("have an address even when there are none", () => {
    expect(new WordArray(0).address).toBeGreaterThan(0);
  });

  test("keep their address when the garbage collector runs", () => {
    const words = new WordArray(3);
    words.set(2, 42);
    Bun.gc(true);
    expect(readPointer(words.address, 16)).toBe(42);
  });
});

describe("C strings", () => {
  test("lie NUL-terminated at their addresses, and a pointer array keeps them", () => {
    const pointers = WordArray.pointersTo(new CStrings(["", "naïve €", "b"]));
    Bun.gc(true);
    const texts = pointers.take(3).map((address) => new CString(pointerFrom(address)).toString());
    expect(texts).toEqual(["", "naïve €", "b"]);
  });

  test("refuse a NUL, where C would cut the text", () => {
    expect(() => new CStrings(["a\0b"])).toThrow(new RangeError('a NUL byte in "a\\u0000b"'));
  });
});

test("memory is copied between addresses", () => {
  const source = new Uint8Array(new ArrayBuffer(2048)).fill(7);
  const target = new Uint8Array(new ArrayBuffer(2048));
  copyMemory(addressOf(target), addressOf(source), 100);
  expect([target[0], target[99], target[100]]).toEqual([7, 7, 0]);
});

test.each([0, -1, 1.5, null, Number.NaN])("%p is no address", (value) => {
  expect(() => pointerFrom(value)).toThrow(RangeError);
});

describe("a native block", () => {
  test("is one memory for all that attach to it", () => {
    const block = NativeBlock.allocate(2);
    const other = NativeBlock.attach(block.address, 2);
    Atomics.add(other.counters, 2, 5);
    expect([block.words[0], block.words[1]]).toEqual([0n, 5n]);
    other.detach();
    block.free();
  });

  test("counts right when two Workers add to it at once", async () => {
    const block = NativeBlock.allocate(1);
    const source = `
      const { toArrayBuffer } = require("bun:ffi");
      onmessage = ({ data }) => {
        const counters = new Int32Array(toArrayBuffer(data, 0, 8));
        for (let i = 0; i < 200_000; i++) Atomics.add(counters, 0, 1);
        postMessage("done");
      };`;
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const workers = [new Worker(url), new Worker(url)];
    await Promise.all(
      workers.map((worker) => {
        const done = Promise.withResolvers<void>();
        worker.onmessage = () => done.resolve();
        worker.postMessage(block.address);
        return done.promise;
      }),
    );
    for (const worker of workers) worker.terminate();
    expect(block.counters[0]).toBe(400_000);
    block.free();
  });

  test("is empty after it was freed, which may be said twice", () => {
    const block = NativeBlock.allocate(1);
    block.free();
    block.free();
    expect(block.words).toHaveLength(0);
  });
});
