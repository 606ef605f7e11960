import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { addressOf, WordArray } from "#ffi/memory.ts";
import { NativeError } from "#ffi/native-error.ts";
import { OrtApi } from "#ffi/onnxruntime/api.ts";
import { ORT_API_FUNCTIONS, ORT_API_VERSION } from "#ffi/onnxruntime/api-table.ts";
import { Environment } from "#ffi/onnxruntime/environment.ts";
import { MemoryInfo } from "#ffi/onnxruntime/memory-info.ts";
import { builtInProviders } from "#ffi/onnxruntime/providers.ts";
import { RunCall } from "#ffi/onnxruntime/run-call.ts";
import { RunOptions } from "#ffi/onnxruntime/run-options.ts";
import { Session } from "#ffi/onnxruntime/session.ts";
import { SessionOptions } from "#ffi/onnxruntime/session-options.ts";
import { TerminateHandle, terminateRun } from "#ffi/onnxruntime/terminate-run.ts";
import { Value } from "#ffi/onnxruntime/value.ts";
import { addSubModel, identityModel, onnxModel } from "../../../support/onnx-model.ts";
import { needed, onnxruntimeOrSkip } from "../../../support/onnxruntime-library.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

const found = await onnxruntimeOrSkip("onnxruntime through FFI");
const COMPILER = Bun.which("cc");
if (COMPILER === null) process.stderr.write("skipped: a library of operators: no C compiler\n");

function errorOf(action: () => unknown): NativeError {
  try {
    action();
  } catch (error) {
    if (error instanceof NativeError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe.skipIf(found === undefined)("onnxruntime", () => {
  const folder = new TemporaryFolder();
  let api: OrtApi;
  let environment: Environment;
  let options: SessionOptions;

  function load(name: string, model: Uint8Array): Session {
    return Session.load(environment, folder.file(`${name}.onnx`, model), options);
  }

  beforeAll(() => {
    api = needed(found);
    environment = new Environment(api);
    options = new SessionOptions(api);
  });

  afterAll(() => {
    options[Symbol.dispose]();
    environment[Symbol.dispose]();
    folder[Symbol.dispose]();
  });

  test("agrees on the older version of header and library", () => {
    const minor = Number(api.version.split(".")[1]);
    expect(api.apiVersion).toBe(Math.min(minor, ORT_API_VERSION));
  });

  test("opening a file that is no onnxruntime says so", () => {
    const path = "/lib/x86_64-linux-gnu/libm.so.6";
    expect(() => OrtApi.open(path)).toThrow("OrtGetApiBase");
    expect(() => OrtApi.open("/no/such/lib.so")).toThrow("No such file");
  });

  test("names the providers that it was built with", () => {
    expect(builtInProviders(api)).toContain("CPUExecutionProvider");
  });

  test("describes inputs and outputs with their free dimensions", () => {
    using session = load("described", addSubModel("FP16", ["batch", -1, 3]));
    expect(session.inputs.map(({ name }) => name)).toEqual(["INPUT0", "INPUT1"]);
    expect(session.outputs[1]).toEqual({
      name: "OUTPUT1",
      kind: "tensor",
      elementType: "float16",
      dimensions: [
        { length: -1, symbol: "batch" },
        { length: -1, symbol: "" },
        { length: 3, symbol: "" },
      ],
    });
  });

  test("describes a sequence by its kind, and a scalar by an empty shape", () => {
    using sequence = load(
      "sequence",
      onnxModel({
        nodes: [{ operator: "SequenceConstruct", inputs: ["X"], outputs: ["Y"] }],
        inputs: [{ name: "X", type: "FP32", shape: [] }],
        outputs: [{ name: "Y", type: "FP32", shape: [], isSequence: true }],
      }),
    );
    expect(sequence.inputs[0]?.dimensions).toEqual([]);
    expect(sequence.outputs[0]?.kind).toBe("sequence");
    expect(sequence.outputs[0]?.dimensions).toBeUndefined();
  });

  test("a status becomes an error with function, code and onnxruntime's words", () => {
    const path = folder.file("garbage.onnx", "not a model");
    const error = errorOf(() => Session.load(environment, path, options));
    expect([error.functionName, error.status]).toEqual(["CreateSession", 7]);
    expect(error.text).toContain(`${path} failed`);
    const missing = errorOf(() => Session.load(environment, `${folder.path}/none.onnx`, options));
    expect([missing.status, missing.text.includes("none.onnx")]).toEqual([3, true]);
  });

  test("a function that the library lacks throws with the version that has it", () => {
    const name = "TensorTypeAndShape_HasShape";
    const { since } = ORT_API_FUNCTIONS[name];
    expect(api.has(name)).toBe(api.apiVersion >= since);
    if (api.has(name)) return;
    const error = errorOf(() => api.functions[name](environment.pointer));
    expect(error.text).toContain(`needs onnxruntime 1.${since} or later`);
  });

  test("settings that onnxruntime refuses name the function", () => {
    using own = new SessionOptions(api);
    const error = errorOf(() => own.addConfigEntry("", "1"));
    expect([error.functionName, error.status]).toEqual(["AddSessionConfigEntry", 2]);
    expect(errorOf(() => own.appendProvider("CUDA", {})).text).toContain("CUDA");
    expect(errorOf(() => own.appendProvider("TensorRT", {})).text).toContain("TensorRT");
    expect(errorOf(() => own.appendProvider("OpenVINO", { device_type: "CPU" })).text).toContain(
      "OpenVINO",
    );
  });

  test("every setting is taken", () => {
    using own = new SessionOptions(api);
    own.setGraphOptimizationLevel("extended");
    own.setExecutionMode(true);
    own.setIntraOpThreadCount(1);
    own.setInterOpThreadCount(1);
    own.setCpuMemoryArena(false);
    own.setCpuMemoryArena(true);
    own.setMemoryPattern(false);
    own.setMemoryPattern(true);
    own.addConfigEntry("session.intra_op.allow_spinning", "0");
    using session = Session.load(environment, folder.file("set.onnx", identityModel()), own);
    expect(session.inputs).toHaveLength(1);
    const path = `${folder.path}/ops.so`;
    expect(errorOf(() => own.registerCustomOperators(path)).text).toContain("ops.so");
  });

  test.skipIf(COMPILER === null)("a library of operators is loaded by its path", () => {
    const source = folder.file(
      "ops.c",
      "void *RegisterCustomOps(void *options, const void *api) { return 0; }\n",
    );
    const library = `${folder.path}/libops.so`;
    Bun.spawnSync([COMPILER ?? "cc", "-shared", "-fPIC", "-o", library, source]);
    using own = new SessionOptions(api);
    own.registerCustomOperators(library);
    using session = Session.load(environment, folder.file("ops.onnx", identityModel()), own);
    expect(session.inputs).toHaveLength(1);
  });

  test("runs over memory of ours and into it", () => {
    using session = load("run", addSubModel("FP32", ["n"]));
    using run = new RunOptions(api);
    using info = new MemoryInfo(api);
    const floats = new Float32Array(new ArrayBuffer(4096));
    floats.set([1, 2, 3, 10, 20, 30]);
    const base = addressOf(new Uint8Array(floats.buffer));
    const tensor = (at: number) =>
      Value.overMemory(
        info,
        api,
        { address: base + at * 4, byteLength: 12 },
        { elementType: "float32", shape: [3] },
      );
    using a = tensor(0);
    using b = tensor(3);
    using sum = tensor(6);
    const names = { inputs: ["INPUT0", "INPUT1"], outputs: ["OUTPUT0", "OUTPUT1"] };
    const call = new RunCall(session, run, names);
    call.begin();
    call.addInput(0, a);
    call.addInput(1, b);
    call.addOutput(0, sum);
    call.addOutput(1, undefined);
    call.run();
    expect([...floats.subarray(6, 9)]).toEqual([11, 22, 33]);
    using difference = call.takeOutput(1);
    expect(difference.isTensor).toBe(true);
    expect(difference.describe()).toEqual({ elementType: "float32", shape: [3] });
    difference.copyTo(base + 64, 12);
    expect([...floats.subarray(16, 19)]).toEqual([-9, -18, -27]);
  });

  test("a value needs as many bytes as its shape says", () => {
    using info = new MemoryInfo(api);
    const bytes = new Uint8Array(new ArrayBuffer(64));
    const memory = { address: addressOf(bytes), byteLength: 8 };
    const error = errorOf(() =>
      Value.overMemory(info, api, memory, { elementType: "int64", shape: [2] }),
    );
    expect(error.functionName).toBe("CreateTensorWithDataAsOrtValue");
  });

  test("strings keep their NULs and their empty elements", () => {
    using value = Value.strings(api, [3]);
    const bytes = new TextEncoder().encode("a\0b\0€");
    value.setString(0, addressOf(bytes), bytes.byteLength);
    value.setString(2, addressOf(bytes), 2);
    const target = new Uint8Array(new ArrayBuffer(value.stringBytes()));
    const offsets = new WordArray(3);
    value.copyStrings({ address: addressOf(target), byteLength: target.byteLength }, offsets);
    expect(new TextDecoder().decode(target)).toBe("a\0b\0€a\0");
    expect(offsets.take(3)).toEqual([0, 7, 7]);
  });

  test("a session lives until its last part is disposed, whichever that is", () => {
    const first = load("shared", identityModel());
    const second = Session.join(api, first.handle);
    const third = Session.join(api, second.handle);
    expect(third.handle).toBe(first.handle);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(second.outputs).toEqual(third.outputs);
    expect(() => first.pointer).toThrow("disposed");
    third[Symbol.dispose]();
    const fourth = Session.join(api, second.handle);
    second[Symbol.dispose]();
    expect(fourth.inputs[0]?.name).toBe("INPUT0");
    fourth[Symbol.dispose]();
  });

  test("a run that was asked to end does so, and the next one is not touched by it", () => {
    using session = load("ended", identityModel("FP32", ["n"]));
    using run = new RunOptions(api);
    using info = new MemoryInfo(api);
    using handle = new TerminateHandle(api, run);
    const bytes = new Uint8Array(new ArrayBuffer(64));
    using value = Value.overMemory(
      info,
      api,
      { address: addressOf(bytes), byteLength: 4 },
      { elementType: "float32", shape: [1] },
    );
    const call = new RunCall(session, run, { inputs: ["INPUT0"], outputs: ["OUTPUT0"] });
    const go = () => {
      call.begin();
      call.addInput(0, value);
      call.addOutput(0, undefined);
      call.run();
      call.takeOutput(0)[Symbol.dispose]();
    };
    go();
    terminateRun(handle.address);
    expect(errorOf(go).text).toContain("terminate");
    run.unsetTerminate();
    go();
  });

  test("an address that is no handle is refused", () => {
    const bytes = new Uint8Array(new ArrayBuffer(64));
    expect(() => terminateRun(addressOf(bytes))).toThrow("no handle of a run");
    expect(() => Session.join(api, addressOf(bytes))).toThrow("no handle of a session");
  });

  test("owners can be disposed twice, and refuse to be used afterwards", () => {
    for (const owner of [new RunOptions(api), new MemoryInfo(api), new SessionOptions(api)]) {
      owner[Symbol.dispose]();
      owner[Symbol.dispose]();
      expect(() => owner.pointer).toThrow("disposed");
    }
    const value = Value.strings(api, [1]);
    value[Symbol.dispose]();
    value[Symbol.dispose]();
    expect(() => value.pointer).toThrow("disposed");
    const own = new Environment(api);
    own[Symbol.dispose]();
    own[Symbol.dispose]();
    expect(() => own.pointer).toThrow("disposed");
  });
});

test.skipIf(found === undefined)(
  "onnxruntime keeps no record of its use and reports nothing",
  () => {
    using folder = new TemporaryFolder();
    const environment = new URL("../../../../ffi/onnxruntime/environment.ts", import.meta.url)
      .pathname;
    const library = new URL("../../../../ffi/onnxruntime/open-library.ts", import.meta.url)
      .pathname;
    const program = folder.file(
      "program.ts",
      `import { Environment } from ${JSON.stringify(environment)};
     import { openOnnxRuntime } from ${JSON.stringify(library)};
     using environment = new Environment(await openOnnxRuntime());
     if (environment.pointer > 0) process.stdout.write("made");`,
    );
    const home = folder.directory("home");
    const { XDG_CACHE_HOME: _cache, ...rest } = process.env;
    // Bun itself would keep there what it made of the sources.
    const env = { ...rest, HOME: home, CI: "", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
    const { stdout } = Bun.spawnSync([process.execPath, program], { env });
    expect(stdout.toString()).toBe("made");
    expect(readdirSync(home)).toEqual([]);
  },
);
