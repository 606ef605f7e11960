import { expect, test } from "bun:test";
import { ModelRecord, UNLOADED_REASON } from "../../../../src/core/model/model-states.ts";

test("versions come in order of their number", () => {
  const record = new ModelRecord("m");
  for (const version of [10, 2, 1]) record.getOrCreate(version);
  expect(record.versions().map(({ version }) => version)).toEqual([1, 2, 10]);
  expect(record.getOrCreate(2)).toBe(record.getOrCreate(2));
});

test("of the versions that are gone from disk only the newest hundred unloaded ones are remembered", () => {
  const record = new ModelRecord("m");
  for (let version = 1; version <= 150; version++) {
    record.getOrCreate(version).reason = UNLOADED_REASON;
  }
  record.getOrCreate(7).reason = "Internal: it broke";
  record.forgetGone(new Set([1, 2]));
  const left = record.versions().map(({ version }) => version);
  expect(left.slice(0, 4)).toEqual([1, 2, 7, 51]);
  expect(left.at(-1)).toBe(150);
});
