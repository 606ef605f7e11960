import { expect, test } from "bun:test";
import { spinningEntries } from "../../../../src/backends/onnxruntime/spinning.ts";

const nothing = { sessionEntries: new Map<string, string>() };

test("threads spin briefly where the library can limit it, and not at all where it cannot", () => {
  expect(spinningEntries(26, nothing)).toEqual([
    ["session.intra_op.spin_duration_us", "20"],
    ["session.inter_op.spin_duration_us", "20"],
  ]);
  expect(spinningEntries(25, nothing)).toEqual([
    ["session.intra_op.allow_spinning", "0"],
    ["session.inter_op.allow_spinning", "0"],
  ]);
});

test("a configuration that says something about a pool's spinning has the last word on that pool", () => {
  const sessionEntries = new Map([["session.intra_op.allow_spinning", "1"]]);
  expect(spinningEntries(29, { sessionEntries })).toEqual([
    ["session.inter_op.spin_duration_us", "20"],
  ]);
});

test("other entries of a pool leave its spinning to us", () => {
  const sessionEntries = new Map([["session.intra_op_thread_affinities", "1"]]);
  expect(spinningEntries(29, { sessionEntries })).toHaveLength(2);
});
