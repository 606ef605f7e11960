import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RunningProgram } from "../support/running-program.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

// Each test starts the server and some interpreters, on a machine that may be busy.
setDefaultTimeout(60_000);

const BIN = fileURLToPath(new URL("../../.venv/bin", import.meta.url));

/** Whether Python models can run here: the tests' own interpreter, with numpy. */
function hasPython(): boolean {
  const python = `${BIN}/python3`;
  return existsSync(python) && Bun.spawnSync([python, "-c", "import numpy"]).exitCode === 0;
}

const canRun = hasPython();
if (!canRun) process.stderr.write("skipped: .venv/bin/python3 with numpy not found\n");
const testPython = test.skipIf(!canRun);

/** Small and large tensors go different ways to the process and back: in the frame, and in shared memory. */
const ECHO = `
import os
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
            if x.size and x[0] < 0:
                error = pb_utils.TritonError("no negatives", pb_utils.TritonError.INVALID_ARG)
                responses.append(pb_utils.InferenceResponse([], error))
                continue
            if x.size and x[0] == 13:
                raise ValueError("thirteen")
            pid = np.array([os.getpid()], np.float32)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", x * 2), pb_utils.Tensor("pid", pid)]))
        return responses
`;

const STREAM = `
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for value in pb_utils.get_input_tensor_by_name(request, "x").as_numpy():
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("y", np.array([value], np.float32))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`;

const CALLER = `
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x")
            answer = pb_utils.InferenceRequest(model_name="echo", requested_output_names=["y"], inputs=[x]).exec()
            if answer.has_error():
                responses.append(pb_utils.InferenceResponse([], answer.error()))
            else:
                responses.append(pb_utils.InferenceResponse(answer.output_tensors()))
        return responses
`;

/** Its metric lives in the module: nothing releases it before the process ends. */
const METERED = `
import time
import triton_python_backend_utils as pb_utils

family = pb_utils.MetricFamily("test_depth", "Depth", pb_utils.MetricFamily.GAUGE)
depth = family.Metric({})

class TritonPythonModel:
    def is_ready(self):
        time.sleep(0.05)
        return True

    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x")
            depth.set(float(x.as_numpy()[0]) / 0.5 * float("inf"))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", x.as_numpy())]))
        return responses
`;

const REPOSITORY = { echo: ECHO, stream: STREAM, caller: CALLER, metered: METERED };

type ModelName = keyof typeof REPOSITORY;

/** The server from source with the given models, in explicit mode so that they can be unloaded. */
class PythonServer implements AsyncDisposable {
  readonly #folder = new TemporaryFolder();
  readonly #program: RunningProgram;
  #http = "";
  #metrics = "";

  private constructor(models: readonly ModelName[]) {
    for (const name of models) {
      this.#folder.file(`${name}/1/model.py`, REPOSITORY[name]);
      const outputs = name === "echo" ? ["y", "pid"] : ["y"];
      const tensors = outputs.map(
        (output) => `output { name: "${output}" data_type: TYPE_FP32 dims: [ -1 ] }`,
      );
      this.#folder.file(
        `${name}/config.pbtxt`,
        `backend: "python"
         input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
         ${tensors.join("\n")}
         model_transaction_policy { decoupled: ${name === "stream"} }`,
      );
    }
    const ports = ["--http-port=0", "--grpc-port=0", "--metrics-port=0"];
    const mode = ["--model-control-mode=explicit", "--load-model=*"];
    this.#program = new RunningProgram(
      ["serve", this.#folder.path, ...ports, ...mode, "--http-address=127.0.0.1"],
      { PATH: `${BIN}:${process.env["PATH"] ?? ""}` },
    );
  }

  static async start(...models: readonly ModelName[]): Promise<PythonServer> {
    const server = new PythonServer(models);
    const ready = /ready: HTTP 127\.0\.0\.1:(\d+), gRPC \S+, metrics \S+:(\d+)/;
    const [, http = "", metrics = ""] = await server.#program.waitFor(ready);
    server.#http = `http://127.0.0.1:${http}`;
    server.#metrics = `http://127.0.0.1:${metrics}/metrics`;
    return server;
  }

  post(path: string, body: unknown = {}): Promise<Response> {
    return fetch(`${this.#http}/v2/${path}`, { method: "POST", body: JSON.stringify(body) });
  }

  async infer(model: ModelName, data: readonly number[]) {
    const input = { name: "x", datatype: "FP32", shape: [data.length], data };
    const response = await this.post(`models/${model}/infer`, { inputs: [input] });
    const body = (await response.json()) as {
      readonly error?: string;
      readonly outputs?: readonly { readonly name: string; readonly data: readonly number[] }[];
    };
    const values = (name: string) => body.outputs?.find((one) => one.name === name)?.data;
    return { status: response.status, error: body.error, y: values("y"), pid: values("pid")?.[0] };
  }

  async isReady(model: ModelName): Promise<boolean> {
    return (await fetch(`${this.#http}/v2/models/${model}/ready`)).status === 200;
  }

  async metricLines(name: string): Promise<string[]> {
    const page = await (await fetch(this.#metrics)).text();
    return page.split("\n").filter((line) => line.startsWith(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
    this.#folder.dispose();
  }
}

/** Asks until it is so. @throws Error after some seconds. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`still not so: ${isSo}`);
    await Bun.sleep(50);
  }
}

describe("a Python model in its process", () => {
  testPython("answers small and large tensors, its own errors and exceptions", async () => {
    await using server = await PythonServer.start("echo");
    expect(await server.infer("echo", [1, 2, 3])).toMatchObject({ status: 200, y: [2, 4, 6] });
    const many = Array.from({ length: 50_000 }, (_, i) => i);
    for (let round = 0; round < 3; round++) {
      expect((await server.infer("echo", many)).y).toEqual(many.map((value) => value * 2));
    }
    expect(await server.infer("echo", [-1])).toMatchObject({
      status: 400,
      error: "no negatives",
    });
    expect(await server.infer("echo", [13])).toMatchObject({
      status: 500,
      error: expect.stringContaining("ValueError: thirteen"),
    });
    expect(await server.infer("echo", [])).toMatchObject({ status: 200, y: [] });
  });

  testPython("streams the answers of a decoupled model in order", async () => {
    await using server = await PythonServer.start("stream");
    const response = await server.post("models/stream/generate_stream", { x: [3, 1, 2] });
    const answers = (await response.text()).match(/(?<=^data: ).*$/gm) ?? [];
    expect(answers.map((answer) => (JSON.parse(answer) as { y: number }).y)).toEqual([3, 1, 2]);
  });

  testPython("calls another model, and gets its error as an error", async () => {
    await using server = await PythonServer.start("echo", "caller");
    expect(await server.infer("caller", [5])).toMatchObject({ status: 200, y: [10] });
    const many = Array.from({ length: 20_000 }, (_, i) => i);
    expect((await server.infer("caller", many)).y).toEqual(many.map((value) => value * 2));
    expect(await server.infer("caller", [-1])).toMatchObject({
      status: 400,
      error: expect.stringContaining("no negatives"),
    });
  });

  testPython("that is killed fails what it had, and serves again in a new process", async () => {
    await using server = await PythonServer.start("echo", "caller");
    const { pid = 0 } = await server.infer("echo", [1]);
    process.kill(pid, "SIGKILL");
    await until(async () => (await server.infer("echo", [1])).status === 200);
    expect((await server.infer("echo", [1])).pid).not.toBe(pid);
    expect(await server.infer("caller", [5])).toMatchObject({ y: [10] });
  });

  testPython("may set a gauge to infinity; it leaves the page with the model", async () => {
    await using server = await PythonServer.start("metered");
    expect(await server.infer("metered", [1])).toMatchObject({ status: 200, y: [1] });
    await until(async () => (await server.metricLines("test_depth"))[0] === "test_depth +Inf");
    await server.post("repository/models/metered/unload");
    await until(async () => (await server.metricLines("test_depth")).length === 0);
  });

  testPython("is asked for its readiness by many at once", async () => {
    await using server = await PythonServer.start("metered");
    const answers = await Promise.all(Array.from({ length: 8 }, () => server.isReady("metered")));
    expect(answers).toEqual(new Array(8).fill(true));
  });
});
