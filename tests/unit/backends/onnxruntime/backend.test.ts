import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { InferenceError } from "../../../../src/base/error.ts";
import { OnnxBackendSetup, type OpenOnnxOptions } from "../../../support/onnx-backend.ts";
import { parameters } from "../../../support/onnx-config.ts";
import { identityModel, onnxModel } from "../../../support/onnx-model.ts";
import { needed, onnxruntimeOrSkip } from "../../../support/onnxruntime-library.ts";
import { TestBatch } from "../../../support/test-batch.ts";

const found = await onnxruntimeOrSkip("the onnxruntime backend");

async function failureOf(action: Promise<unknown>): Promise<InferenceError> {
  const error = await action.then(
    () => new Error("nothing was thrown"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof InferenceError) return error;
  throw error;
}

/** Y = X + W, where the weights lie in a file beside the model. */
const EXTERNAL = onnxModel({
  nodes: [{ operator: "Add", inputs: ["X", "W"], outputs: ["Y"] }],
  inputs: [{ name: "X", type: "FP32", shape: [2] }],
  outputs: [{ name: "Y", type: "FP32", shape: [2] }],
  initializers: [
    { name: "W", type: "FP32", shape: [2], data: { location: "weights.bin", byteLength: 8 } },
  ],
});

const X = {
  index: 0,
  datatype: "FP32",
  shape: [2],
  bytes: new Uint8Array(new Float32Array([1, 2]).buffer),
} as const;

describe.skipIf(found === undefined)("the backend", () => {
  test("reports what the file has, with types that the protocol lacks by their own names", async () => {
    using setup = await OnnxBackendSetup.create();
    const model = await setup.open(
      onnxModel({
        nodes: [
          { operator: "SequenceConstruct", inputs: ["X"], outputs: ["S"] },
          { operator: "Add", inputs: ["X", "W"], outputs: ["Y"] },
        ],
        inputs: [
          { name: "X", type: "FP32", shape: ["batch", 2] },
          { name: "W", type: "FP32", shape: [2] },
        ],
        outputs: [
          { name: "Y", type: "FP32", shape: ["batch", 2] },
          { name: "S", type: "FP32", shape: ["batch", 2], isSequence: true },
        ],
        initializers: [{ name: "W", type: "FP32", shape: [2], data: new Uint8Array(8) }],
      }),
    );
    const { inputs, outputs } = model.report;
    expect(inputs.map(({ name, shape, isOptional }) => [name, shape, isOptional])).toEqual([
      ["X", [-1, 2], false],
      ["W", [2], true],
    ]);
    expect(outputs[1]).toEqual({
      name: "S",
      datatype: undefined,
      nativeType: "sequence",
      shape: undefined,
      isOptional: false,
    });
  });

  test("finds external data beside the model, and a model in a directory", async () => {
    using setup = await OnnxBackendSetup.create();
    setup.folder.file("m/1/weights.bin", new Uint8Array(new Float32Array([10, 20]).buffer));
    const instance = await setup.instance(EXTERNAL);
    const batch = new TestBatch([X], [0]);
    instance.execute(batch);
    expect([...new Float32Array(batch.output(0).bytes.slice().buffer)]).toEqual([11, 22]);
    setup.folder.remove("m/1/model.onnx");
    setup.folder.file("m/1/model.onnx/model.onnx", EXTERNAL);
    setup.folder.file("m/1/model.onnx/weights.bin", new Uint8Array(8));
    using model = await setup.backend.openModel(setup.options());
    expect(model.report.inputs).toHaveLength(1);
  });

  test("takes every setting of a session", async () => {
    using setup = await OnnxBackendSetup.create();
    const settings = {
      execution_mode: "1",
      intra_op_thread_count: "1",
      inter_op_thread_count: "1",
      enable_mem_arena: "0",
      enable_mem_pattern: "0",
      "session.use_device_allocator_for_initializers": "1",
      "memory.enable_memory_arena_shrinkage": "",
    };
    const fields = { ...parameters(settings), optimization: { graph: { level: 1 } } };
    const instance = await setup.instance(identityModel("FP32", [2]), {}, { fields });
    const batch = new TestBatch([X], [0]);
    instance.execute(batch);
    expect(batch.output(0).bytes).toEqual(X.bytes);
  });

  test("shares thread pools where the backend's settings say so", async () => {
    // In a process of its own: the pools are made with the first environment and stay.
    const program = fileURLToPath(
      new URL("../../../support/shared-thread-pools.ts", import.meta.url),
    );
    const child = Bun.spawn([process.execPath, program], { stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect({ stdout, stderr, exitCode: await child.exited }).toEqual({
      stdout: "1,2",
      stderr: "",
      exitCode: 0,
    });
  });

  const openvino: JsonObject = {
    optimization: { execution_accelerators: { cpu_execution_accelerator: [{ name: "openvino" }] } },
  };
  const missingProviders: [string, OpenOnnxOptions, string, string][] = [
    ["the GPU", { device: { kind: "GPU", id: 0 } }, "CUDA", "KIND_GPU"],
    ["OpenVINO", { fields: openvino }, "OpenVINO", "cpu accelerator"],
  ];

  test.each(missingProviders)(
    "names library and providers when it has nothing for %s",
    async (...row) => {
      const [, options, provider, askedBy] = row;
      using setup = await OnnxBackendSetup.create();
      const error = await failureOf(setup.open(identityModel(), options));
      expect(error.code).toBe("UNSUPPORTED");
      expect(error.message).toStartWith(
        `model 'm' needs onnxruntime's ${provider} provider (${askedBy}), which ${needed(found).libraryPath} `,
      );
      expect(error.message).toContain("CPUExecutionProvider");
    },
  );

  test("names a library of operators that is not there", async () => {
    using setup = await OnnxBackendSetup.create();
    const fields = { model_operations: { op_library_filename: ["ops.so"] } };
    const error = await failureOf(setup.open(identityModel(), { fields }));
    expect(error.message).toBe(
      `model_operations.op_library_filename 'ops.so' of model 'm' is not there: ${setup.folder.path}/m/ops.so`,
    );
  });

  test("shows onnxruntime's words for a file that is no model", async () => {
    using setup = await OnnxBackendSetup.create();
    const error = await failureOf(setup.open(new TextEncoder().encode("not a model")));
    expect(error.code).toBe("INTERNAL");
    expect(error.message).toMatch(/^onnx runtime error 7: .*m\/1\/model.onnx failed/);
  });

  test("says which operator a model needs that the library lacks", async () => {
    using setup = await OnnxBackendSetup.create();
    const model = onnxModel({
      nodes: [{ operator: "Frobnicate", inputs: ["X"], outputs: ["Y"], domain: "mine" }],
      inputs: [{ name: "X", type: "FP32", shape: [1] }],
      outputs: [{ name: "Y", type: "FP32", shape: [1] }],
    });
    expect((await failureOf(setup.open(model))).message).toContain("Frobnicate");
  });

  test("gives a shared session to other hosts, and frees it with the last of them", async () => {
    using setup = await OnnxBackendSetup.create();
    const first = await setup.open(identityModel("FP32", [2]));
    const { sharedHandle } = first.report;
    if (sharedHandle === undefined) throw new Error("no shared handle");
    setup.folder.remove("m/1/model.onnx");
    const second = await setup.backend.openModel(setup.options({ sharedHandle }));
    first[Symbol.dispose]();
    expect(second.report).toEqual(first.report);
    second[Symbol.dispose]();
  });
});
