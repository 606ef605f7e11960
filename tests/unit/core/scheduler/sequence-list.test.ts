import { expect, test } from "bun:test";
import { Sequence } from "../../../../src/core/scheduler/sequence.ts";
import { SequenceList } from "../../../../src/core/scheduler/sequence-list.ts";

function sequences(count: number): Sequence[] {
  return Array.from({ length: count }, (_, i) => new Sequence(BigInt(i), ""));
}

function keys(list: SequenceList): (bigint | string | undefined)[] {
  return [...list].map(({ key }) => key);
}

test("keeps the order of appending, whatever is taken out", () => {
  const list = new SequenceList();
  const all = sequences(5);
  for (const one of all) list.append(one);
  for (const index of [0, 2, 4]) {
    const one = all[index];
    if (one === undefined) continue;
    list.remove(one);
    list.remove(one);
    expect(list.has(one)).toBe(false);
  }
  expect(keys(list)).toEqual([1n, 3n]);
  const [first] = all;
  if (first !== undefined) list.append(first);
  expect(keys(list)).toEqual([1n, 3n, 0n]);
  expect(list.head?.key).toBe(1n);
});

test("takes a sequence over from the list that it was in", () => {
  const [from, to] = [new SequenceList(), new SequenceList()];
  for (const one of sequences(3)) from.append(one);
  const middle = from.head?.next;
  if (middle !== undefined) to.append(middle);
  expect([keys(from), keys(to)]).toEqual([[0n, 2n], [1n]]);
});
