import { describe, expect, test } from "bun:test";
import { addressOf } from "#ffi/memory.ts";
import { MemoryInfo } from "#ffi/onnxruntime/memory-info.ts";
import { ValueCache } from "../../../../src/backends/onnxruntime/value-cache.ts";
import { needed, onnxruntimeOrSkip } from "../../../support/onnxruntime-library.ts";

const found = await onnxruntimeOrSkip("the cache of onnxruntime values");

const memory = new Uint8Array(new ArrayBuffer(4096));
const address = addressOf(memory);

function floats(at: number, shape: readonly number[]) {
  const byteLength = shape.reduce((product, dim) => product * dim, 4);
  return { address: address + at, byteLength, elementType: "float32" as const, shape };
}

describe.skipIf(found === undefined)("the cache", () => {
  test("gives the same value for the same place, type and shape, and another one otherwise", () => {
    const api = needed(found);
    using info = new MemoryInfo(api);
    using cache = new ValueCache(api, info);
    const value = cache.get(floats(0, [2, 3]));
    expect(cache.get(floats(0, [2, 3]))).toBe(value);
    expect(cache.get(floats(0, [3, 2]))).not.toBe(value);
    expect(cache.get(floats(64, [2, 3]))).not.toBe(value);
    expect(cache.get({ ...floats(0, [2, 3]), elementType: "int32" })).not.toBe(value);
    expect(cache.count).toBe(4);
  });

  test("keeps its own copy of the shape", () => {
    const api = needed(found);
    using info = new MemoryInfo(api);
    using cache = new ValueCache(api, info);
    const shape = [2, 3];
    const value = cache.get({ ...floats(0, [2, 3]), shape });
    shape[0] = 1;
    expect(cache.get(floats(0, [2, 3]))).toBe(value);
  });

  test("starts afresh before a run that it has no room for", () => {
    const api = needed(found);
    using info = new MemoryInfo(api);
    using cache = new ValueCache(api, info, 4);
    for (let i = 1; i <= 3; i++) {
      cache.reserve(1);
      cache.get(floats(0, [i]));
    }
    cache.reserve(2);
    expect(cache.count).toBe(0);
    const first = cache.get(floats(0, [1]));
    const second = cache.get(floats(0, [2]));
    expect([first.pointer, second.pointer].every((pointer) => pointer > 0)).toBe(true);
  });

  test("describes a place without bytes too", () => {
    const api = needed(found);
    using info = new MemoryInfo(api);
    using cache = new ValueCache(api, info);
    const value = cache.get({ ...floats(0, [0, 3]), address: 0 });
    expect(value.describe()).toEqual({ elementType: "float32", shape: [0, 3] });
  });
});
