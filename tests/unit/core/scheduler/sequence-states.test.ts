import { describe, expect, test } from "bun:test";
import type { Shape } from "../../../../src/base/shape.ts";
import type { JoinedOutput } from "../../../../src/core/instance/model-instance.ts";
import { turn } from "../../../support/scheduler-setup.ts";
import { SequenceSetup } from "../../../support/sequence-setup.ts";

/** The state's output comes behind the one that clients know. */
const STATE_INDEX = 1;

function state(dims: string, more = ""): string {
  return `state { input_name: "S_IN" output_name: "S_OUT" data_type: TYPE_INT32 dims: [ ${dims} ] ${more} }`;
}

function output(shape: Shape, values: readonly number[]): JoinedOutput {
  const bytes = new Uint8Array(new Int32Array(values).buffer);
  return { index: STATE_INDEX, datatype: "INT32", shape, bytes };
}

function statesIn(setup: SequenceSetup): number[][] | undefined {
  return setup.extra(0)?.map((bytes) => [...new Int32Array(new Uint8Array(bytes).buffer)]);
}

describe("the states of sequences", () => {
  test("go from a request to the next one, each sequence its own, a START afresh", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 4, batching: state("2") });
    const ids = [1n, 2n];
    for (const id of ids) setup.send(id, { start: true });
    await turn();
    expect(setup.batch()?.extras?.inputs[0]?.shape).toEqual([1, 2]);
    expect(setup.batch()?.extras?.outputIndexes).toEqual([STATE_INDEX]);
    expect(statesIn(setup)).toEqual([
      [0, 0],
      [0, 0],
    ]);
    setup.finish(0, [output([2, 2], [1, 2, 3, 4])]);
    for (const id of ids) setup.send(id);
    await turn();
    expect(statesIn(setup)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    setup.finish(0, [output([2, 2], [5, 6, 7, 8])]);
    setup.send(1n, { start: true });
    setup.send(2n);
    await turn();
    expect(statesIn(setup)).toEqual([
      [0, 0],
      [7, 8],
    ]);
  });

  test("are not shown to clients", async () => {
    const setup = await SequenceSetup.create({ batching: state("2") });
    const sent = setup.send(1n, { start: true });
    await turn();
    const shown = { ...output([1], [9]), index: 0 };
    setup.finish(0, [shown, output([2], [1, 2])]);
    expect(sent.sink.responses[0]?.outputs.map(({ name }) => name)).toEqual(["Y"]);
  });

  test("are there for the next batch although that leaves before the answers", async () => {
    const setup = await SequenceSetup.create({ batching: state("1") });
    for (const start of [true, false]) setup.send(1n, { start });
    await turn();
    const slab = output([1], [42]);
    setup.finish(0, [slab]);
    slab.bytes.fill(0);
    expect(statesIn(setup)).toEqual([[42]]);
  });

  test("may grow, and then do not share batches with those of another size", async () => {
    const setup = await SequenceSetup.create({ maxBatchSize: 2, batching: state("-1") });
    setup.send(1n, { start: true });
    await turn();
    expect(statesIn(setup)).toEqual([[0]]);
    setup.finish(0, [output([1, 2], [1, 2])]);
    setup.send(1n);
    setup.send(2n, { start: true });
    await turn();
    expect([setup.ids(), statesIn(setup)]).toEqual([[1n], [[1, 2]]]);
    setup.finish(0, [output([1, 1], [3])]);
    expect([setup.ids(), statesIn(setup)]).toEqual([
      [0n, 2n],
      [[0], [0]],
    ]);
    setup.finish(0, [output([2, 1], [0, 4])]);
    for (const id of [1n, 2n]) setup.send(id);
    await turn();
    expect([setup.ids(), statesIn(setup)]).toEqual([
      [1n, 2n],
      [[3], [4]],
    ]);
  });

  test("of a failed request stay as they were", async () => {
    const setup = await SequenceSetup.create({ batching: state("1") });
    setup.send(1n, { start: true });
    await turn();
    setup.finish(0, [output([1], [5])]);
    setup.send(1n);
    await turn();
    setup.finish(0);
    setup.send(1n);
    await turn();
    expect(statesIn(setup)).toEqual([[5]]);
  });
});
