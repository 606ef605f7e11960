import { describe, expect, test } from "bun:test";
import {
  type SequenceBatching,
  sequenceBatchingFrom,
} from "../../../../src/core/config/sequence-batching.ts";
import { configMessage, refusalOfPromise } from "../../../support/config-texts.ts";
import { CONTROLS } from "../../../support/sequence-setup.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

function read(text: string, directory = "/nowhere"): Promise<SequenceBatching | undefined> {
  return sequenceBatchingFrom(configMessage(`name: "m" ${text}`), directory);
}

function state(type: string, dims: string, initial: string): string {
  return `sequence_batching { state { input_name: "I" output_name: "O" data_type: ${type} dims: [ ${dims} ] ${initial} } }`;
}

function fromFile(type: string, dims: string): string {
  return `initial_state { name: "i" data_type: ${type} dims: [ ${dims} ] data_file: "begin" }`;
}

describe("sequenceBatchingFrom", () => {
  test("gives nothing for other models", async () => {
    expect(await read("dynamic_batching { }")).toBeUndefined();
  });

  test("reads strategies in nanoseconds, direct where none is named", async () => {
    expect((await read("sequence_batching { }"))?.strategy).toEqual({
      kind: "direct",
      maxQueueDelayNs: 0,
      minimumSlotUtilization: 0,
    });
    const oldest = await read(
      "sequence_batching { max_sequence_idle_microseconds: 7 oldest { max_candidate_sequences: 3 " +
        "preferred_batch_size: [ 4, 2 ] max_queue_delay_microseconds: 5 } iterative_sequence: true }",
    );
    expect(oldest).toMatchObject({
      maxIdleNs: 7000,
      isIterative: true,
      strategy: {
        kind: "oldest",
        maxQueueDelayNs: 5000,
        maxCandidateSequences: 3,
        preferredBatchSizes: [2, 4],
      },
    });
  });

  test("reads controls of every type", async () => {
    const controls = (await read(`sequence_batching { ${CONTROLS} }`))?.controls;
    expect(controls).toEqual([
      {
        kind: "START",
        name: "START",
        datatype: "INT32",
        falseBytes: new Uint8Array(4),
        trueBytes: new Uint8Array([1, 0, 0, 0]),
      },
      {
        kind: "END",
        name: "END",
        datatype: "FP32",
        falseBytes: new Uint8Array(4),
        trueBytes: new Uint8Array([0, 0, 0x80, 0x3f]),
      },
      {
        kind: "READY",
        name: "READY",
        datatype: "BOOL",
        falseBytes: new Uint8Array([0]),
        trueBytes: new Uint8Array([1]),
      },
      { kind: "CORRID", name: "CORRID", datatype: "UINT64" },
    ]);
  });

  test("begins states with zeros where nothing else is said, one element for a free dimension", async () => {
    const [plain] = (await read(state("TYPE_INT32", "-1, 2", "")))?.states ?? [];
    expect([plain?.initialShape, plain?.initialBytes]).toEqual([[1, 2], new Uint8Array(8)]);
    const [texts] = (await read(state("TYPE_STRING", "2", "")))?.states ?? [];
    expect(texts?.initialBytes).toEqual(new Uint8Array(8));
  });

  test("reads initial states from files that may be longer", async () => {
    using folder = new TemporaryFolder();
    folder.file("initial_state/begin", new Uint8Array([1, 0, 0, 0, 65, 9]));
    const initial = async (type: string, dims: string) =>
      (await read(state(type, dims, fromFile(type, dims)), folder.path))?.states[0]?.initialBytes;
    expect(await initial("TYPE_UINT8", "3")).toEqual(new Uint8Array([1, 0, 0]));
    expect(await initial("TYPE_STRING", "1")).toEqual(new Uint8Array([1, 0, 0, 0, 65]));
    expect(await refusalOfPromise(initial("TYPE_INT64", "1"))).toContain(
      "needs 8 bytes, but there are 6 in file",
    );
    expect(await refusalOfPromise(initial("TYPE_STRING", "2"))).toContain("needs 9 bytes");
  });

  test("names a file that is not there", async () => {
    const text = state("TYPE_UINT8", "3", fromFile("TYPE_UINT8", "3"));
    expect(await refusalOfPromise(read(text))).toBe(
      "initial state of 'I' for model 'm': cannot read file /nowhere/initial_state/begin",
    );
  });
});
