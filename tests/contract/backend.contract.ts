import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { configDatatypeName, type Datatype, elementBytesOf } from "../../src/base/datatype.ts";
import type { Backend, BackendFactory, OpenModelOptions } from "../../src/core/backend/backend.ts";
import type { BackendInstance } from "../../src/core/backend/backend-instance.ts";
import type {
  BackendModel,
  ExecutionSignature,
  ExecutionTensor,
} from "../../src/core/backend/backend-model.ts";
import { configToBytes } from "../../src/core/config/config-bytes.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { packBytes, unpackBytes } from "../support/sample-models.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { TestBatch, type TestInput } from "../support/test-batch.ts";

/** Fields of a configuration in protobuf's JSON form. */
export type ConfigFields = Readonly<JsonObject>;

/** The models that the suite needs, in the terms of what they do. */
export type ContractModel =
  /** OUTPUT0 = INPUT0, both `[batch, n]` with both free. */
  | { readonly does: "identity"; readonly datatype: Datatype }
  /** OUTPUT0 = INPUT0 where INPUT1 is absent, and INPUT0 + INPUT1 otherwise; FP32 `[2]`, no batching. */
  | { readonly does: "optionalSum" }
  /** Fails when INPUT0 (INT64 `[1]`, no batching) is above 1; OUTPUT0 is INT64 `[1]`. */
  | { readonly does: "failAboveOne" }
  /** A file that is no model at all. */
  | { readonly does: "corrupt" };

/** Cases that a backend may have to leave out, with the reason. */
export type SkippableCase =
  | ContractModel["does"]
  | "wrong names"
  | "failure of one request"
  | "files";

/** What the suite needs of one implementation. */
export interface BackendContractOptions {
  readonly factory: BackendFactory;
  /** Writes the model's files into a version directory; the fields it returns are added to the configuration. */
  write(model: ContractModel, folder: TemporaryFolder, versionDirectory: string): ConfigFields;
  readonly datatypes: readonly Datatype[];
  /** Cases left out, each with its reason. */
  readonly skipped: Readonly<Partial<Record<SkippableCase, string>>>;
  /** Why nothing of this can run on this machine; undefined where it can. */
  readonly unavailable?: string | undefined;
}

const MAX_BATCH_SIZE = 8;
/** Open and close so often; what leaks then shows. */
const CYCLE_COUNT = 1000;
/** Resident memory may grow by this much over the cycles, for the heaps' own sake. */
const ALLOWED_GROWTH_BYTES = 24 * 1024 * 1024;

function tensor(name: string, datatype: Datatype, shape: readonly number[]): ExecutionTensor {
  return { name, datatype, shape };
}

function rowsSignature(datatype: Datatype): ExecutionSignature {
  return {
    inputs: [tensor("INPUT0", datatype, [-1, -1])],
    outputs: [tensor("OUTPUT0", datatype, [-1, -1])],
    maxBatchSize: MAX_BATCH_SIZE,
  };
}

/** Bytes that differ from each other, and are legal BOOLs where they have to be. */
function pattern(datatype: Datatype, count: number): Uint8Array {
  if (datatype === "BYTES") return packBytes(Array.from({ length: count }, (_, i) => `s\0${i}`));
  const bytes = new Uint8Array(count * elementBytesOf(datatype));
  return bytes.map((_, i) => (datatype === "BOOL" ? i % 2 : i * 37));
}

/** Runs the cases that every backend must pass. */
export function backendContract(name: string, options: BackendContractOptions): void {
  const { factory, unavailable } = options;
  if (unavailable !== undefined) {
    process.stderr.write(`skipped: contract of backend ${name}: ${unavailable}\n`);
  }

  describe.skipIf(unavailable !== undefined)(`backend ${name}`, () => {
    const folder = new TemporaryFolder();
    const logger = new RecordingLogger();
    let backend: Backend;
    let modelCount = 0;

    function unless(skippable: SkippableCase): (title: string, run: () => Promise<void>) => void {
      const reason = options.skipped[skippable];
      if (reason !== undefined && unavailable === undefined) {
        process.stderr.write(`skipped: ${name}, ${skippable}: ${reason}\n`);
      }
      return test.skipIf(reason !== undefined);
    }

    function prepare(model: ContractModel, fields: ConfigFields = {}): OpenModelOptions {
      const modelName = `m${modelCount++}`;
      const modelDirectory = folder.directory(modelName);
      const versionDirectory = folder.directory(`${modelName}/1`);
      const written = options.write(model, folder, `${modelName}/1`);
      const message = fromJson(ModelConfigSchema, { name: modelName, ...fields, ...written });
      return {
        modelName,
        modelVersion: "1",
        modelDirectory,
        versionDirectory,
        config: configToBytes(message),
        device: { kind: "CPU", id: -1 },
        backendConfig: {},
        libraryPaths: {},
      };
    }

    function batchingConfig(datatype: Datatype): ConfigFields {
      const field = { data_type: configDatatypeName(datatype), dims: [-1] };
      return {
        max_batch_size: MAX_BATCH_SIZE,
        input: [{ name: "INPUT0", ...field }],
        output: [{ name: "OUTPUT0", ...field }],
      };
    }

    function openIdentity(datatype: Datatype): Promise<OpenedInstance> {
      const opened = prepare({ does: "identity", datatype }, batchingConfig(datatype));
      return OpenedInstance.open(backend, opened, rowsSignature(datatype));
    }

    beforeAll(async () => {
      backend = await factory.create(logger, {});
    });

    afterAll(() => {
      backend[Symbol.dispose]();
      folder[Symbol.dispose]();
    });

    test.each(options.datatypes.map((one) => [one]))(
      "%s comes back as it went",
      async (datatype) => {
        await using opened = await openIdentity(datatype);
        const bytes = pattern(datatype, 6);
        const batch = await opened.run([{ index: 0, datatype, shape: [2, 3], bytes }], [2]);
        expect(batch.output(0)).toEqual({ datatype, shape: [2, 3], bytes });
      },
    );

    test.each([[1], [3], [MAX_BATCH_SIZE]])(
      "%d requests in a batch keep their rows",
      async (count) => {
        await using opened = await openIdentity("INT32");
        const bytes = pattern("INT32", count * 2);
        const rows = new Array<number>(count).fill(1);
        const input = { index: 0, datatype: "INT32", shape: [count, 2], bytes } as const;
        const batch = await opened.run([input], rows);
        expect(batch.output(0)).toEqual({ datatype: "INT32", shape: [count, 2], bytes });
      },
    );

    test("batches of other sizes and values do not show through", async () => {
      await using opened = await openIdentity("FP32");
      for (const rows of [8, 1, 5, 8, 2, 3, 1]) {
        const bytes = new Uint8Array(new Float32Array(rows * 3).fill(rows).buffer);
        const input = { index: 0, datatype: "FP32", shape: [rows, 3], bytes } as const;
        expect((await opened.run([input], [rows])).output(0).bytes).toEqual(bytes);
      }
    });

    test("a tensor without elements is a tensor", async () => {
      await using opened = await openIdentity("FP32");
      const bytes = new Uint8Array(0);
      const batch = await opened.run([{ index: 0, datatype: "FP32", shape: [2, 0], bytes }], [2]);
      expect(batch.output(0)).toEqual({ datatype: "FP32", shape: [2, 0], bytes });
    });

    test("no BYTES elements, empty ones, NULs and large ones are kept", async () => {
      await using opened = await openIdentity("BYTES");
      const datatype = "BYTES" as const;
      const none = { index: 0, datatype, shape: [1, 0], bytes: new Uint8Array(0) };
      expect((await opened.run([none])).output(0).bytes).toEqual(new Uint8Array(0));
      const elements = ["", "a\0\0", "\0", "x".repeat(70_000), "ü", ""];
      const input = { index: 0, datatype, shape: [2, 3], bytes: packBytes(elements) };
      const { shape, bytes } = (await opened.run([input], [2])).output(0);
      expect(shape).toEqual([2, 3]);
      expect(unpackBytes(bytes).map((one) => new TextDecoder().decode(one))).toEqual(elements);
    });

    test("the time of inference is marked once, start before end", async () => {
      await using opened = await openIdentity("UINT8");
      const input = {
        index: 0,
        datatype: "UINT8",
        shape: [1, 1],
        bytes: pattern("UINT8", 1),
      } as const;
      const { calls } = await opened.run([input]);
      expect(calls.filter((call) => !call.startsWith("allocate"))).toEqual(["start", "end"]);
    });

    unless("wrong names")("a configuration with another name is refused with both", async () => {
      const config = batchingConfig("FP32");
      const { inputs, ...rest } = rowsSignature("FP32");
      const signature = { ...rest, inputs: inputs.map((one) => ({ ...one, name: "ELSE" })) };
      const opened = prepare({ does: "identity", datatype: "FP32" }, config);
      const attempt = OpenedInstance.open(backend, opened, signature);
      await expect(attempt).rejects.toThrow(/ELSE.*INPUT0/s);
    });

    unless("optionalSum")("an optional input may be left out", async () => {
      const field = { data_type: "TYPE_FP32", dims: [2] };
      const opened = prepare(
        { does: "optionalSum" },
        {
          input: [
            { name: "INPUT0", ...field },
            { name: "INPUT1", ...field, optional: true },
          ],
          output: [{ name: "OUTPUT0", ...field }],
        },
      );
      const signature: ExecutionSignature = {
        inputs: [tensor("INPUT0", "FP32", [2]), tensor("INPUT1", "FP32", [2])],
        outputs: [tensor("OUTPUT0", "FP32", [2])],
        maxBatchSize: 0,
      };
      await using instance = await OpenedInstance.open(backend, opened, signature);
      const floats = (index: number, values: number[]): TestInput => {
        const bytes = new Uint8Array(new Float32Array(values).buffer);
        return { index, datatype: "FP32", shape: [2], bytes };
      };
      const answer = async (inputs: TestInput[]) => {
        const { bytes } = (await instance.run(inputs)).output(0);
        return [...new Float32Array(bytes.slice().buffer)];
      };
      expect(await answer([floats(0, [1, 2])])).toEqual([1, 2]);
      expect(await answer([floats(0, [1, 2]), floats(1, [10, 20])])).toEqual([11, 22]);
      expect(await answer([floats(0, [3, 4])])).toEqual([3, 4]);
    });

    unless("failAboveOne")("a failed batch leaves the instance usable", async () => {
      const field = { data_type: "TYPE_INT64", dims: [1] };
      const fields = {
        input: [{ name: "INPUT0", ...field }],
        output: [{ name: "OUTPUT0", ...field }],
      };
      const signature: ExecutionSignature = {
        inputs: [tensor("INPUT0", "INT64", [1])],
        outputs: [tensor("OUTPUT0", "INT64", [1])],
        maxBatchSize: 0,
      };
      const opened = prepare({ does: "failAboveOne" }, fields);
      await using instance = await OpenedInstance.open(backend, opened, signature);
      const run = (value: bigint) => {
        const bytes = new Uint8Array(new BigInt64Array([value]).buffer);
        return instance.run([{ index: 0, datatype: "INT64", shape: [1], bytes }]);
      };
      for (let i = 0; i < 3; i++) {
        await expect(run(9n)).rejects.toThrow();
        expect((await run(1n)).output(0).shape).toEqual([1]);
      }
    });

    unless("failure of one request")("one request may fail alone", async () => {
      await using opened = await openIdentity("INT32");
      const input = {
        index: 0,
        datatype: "INT32",
        shape: [2, 1],
        bytes: pattern("INT32", 2),
      } as const;
      expect((await opened.run([input], [1, 1])).failures.size).toBe(1);
    });

    unless("corrupt")("a corrupt file is named", async () => {
      const opened = prepare({ does: "corrupt" });
      const attempt = backend.openModel(opened);
      await expect(attempt).rejects.toThrow(`${opened.modelName}/1/`);
    });

    unless("files")("a version without its file is refused with the path", async () => {
      const opened = prepare({ does: "identity", datatype: "FP32" });
      const versionDirectory = folder.directory("empty/1");
      const attempt = backend.openModel({ ...opened, versionDirectory });
      await expect(attempt).rejects.toThrow(versionDirectory);
    });

    test("everything may be disposed twice", async () => {
      const opened = await openIdentity("FP32");
      await opened[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
      const another = await factory.create(logger, {});
      another[Symbol.dispose]();
      another[Symbol.dispose]();
    });

    test(`memory stays flat over ${CYCLE_COUNT} times open and close`, async () => {
      const opened = prepare({ does: "identity", datatype: "FP32" }, batchingConfig("FP32"));
      const input = {
        index: 0,
        datatype: "FP32",
        shape: [1, 64],
        bytes: pattern("FP32", 64),
      } as const;
      const cycle = async () => {
        await using one = await OpenedInstance.open(backend, opened, rowsSignature("FP32"));
        await one.run([input]);
      };
      for (let i = 0; i < CYCLE_COUNT / 5; i++) await cycle();
      Bun.gc(true);
      const before = process.memoryUsage.rss();
      for (let i = 0; i < CYCLE_COUNT; i++) await cycle();
      Bun.gc(true);
      expect(process.memoryUsage.rss() - before).toBeLessThan(ALLOWED_GROWTH_BYTES);
    }, 60_000);
  });
}

/** A model with one instance. */
class OpenedInstance implements AsyncDisposable {
  readonly #model: BackendModel;
  readonly #instance: BackendInstance;

  private constructor(model: BackendModel, instance: BackendInstance) {
    this.#model = model;
    this.#instance = instance;
  }

  static async open(
    backend: Backend,
    options: OpenModelOptions,
    signature: ExecutionSignature,
  ): Promise<OpenedInstance> {
    const model = await backend.openModel(options);
    try {
      const instance = await model.createInstance(
        `${options.modelName}_0`,
        signature,
        options.config,
      );
      return new OpenedInstance(model, instance);
    } catch (error) {
      model[Symbol.dispose]();
      throw error;
    }
  }

  async run(inputs: readonly TestInput[], requestRows?: readonly number[]): Promise<TestBatch> {
    const batch = new TestBatch(inputs, [0], requestRows);
    await this.#instance.execute(batch);
    return batch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#instance[Symbol.dispose]();
    this.#model[Symbol.dispose]();
  }
}
