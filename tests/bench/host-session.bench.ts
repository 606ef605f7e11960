/**
 * What does an instance's host spend on one batch, apart from the way to it? CPU µs per batch of one row, in
 * one thread: reading the frame, onnxruntime's run of a tiny model, writing the reply; and beside it what the main
 * thread spends on writing the frame and reading the reply.
 *
 * `TRIBUNE_ONNXRUNTIME_LIBRARY=… bun tests/bench/host-session.bench.ts`. Prints one JSON line a figure.
 */
import { readFileSync } from "node:fs";
import { NativeSlabs } from "#ffi/slab.ts";
import { ONNXRUNTIME_BACKEND } from "../../src/backends/onnxruntime/backend.ts";
import { configToBytes } from "../../src/core/config/config-bytes.ts";
import { writeBatchFrame } from "../../src/core/instance/batch-frame.ts";
import type { HostPort, HostReport } from "../../src/core/instance/host-link.ts";
import { HostSession } from "../../src/core/instance/host-session.ts";
import { ReplyFrameReader } from "../../src/core/instance/reply-frame.ts";
import type { Slab } from "../../src/core/memory/slab.ts";
import { printBench } from "../support/bench.ts";
import { configMessage } from "../support/onnx-config.ts";
import { addSubModel } from "../support/onnx-model.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { sampleConfig, sampleSignature } from "../support/sample-config.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { batchOf, fp32Input, validatedRequest } from "../support/validated-request.ts";

const ROUNDS = 8;
const BATCHES_PER_ROUND = 50_000;
const VALUES = Array.from({ length: 16 }, (_, i) => i);

const slabs = new NativeSlabs();
let outputs: readonly Slab[] = [];
const port: HostPort = {
  ring: () => undefined,
  enter: () => true,
  leave: () => undefined,
  send: (report: HostReport) => {
    if (report.type === "outputSlabs") outputs = report.handles.map((one) => slabs.attach(one));
    if (report.type === "failed" || report.type === "executionFailed")
      throw new Error(report.error.message);
  },
};

const folder = new TemporaryFolder();
folder.file("m/1/model.onnx", addSubModel("FP32", ["n", 16]));
const tensor = (name: string) => ({ name, datatype: "FP32" as const, dims: [16] });
const config = sampleConfig({
  maxBatchSize: 8,
  inputs: [tensor("INPUT0"), tensor("INPUT1")],
  outputs: [tensor("OUTPUT0"), tensor("OUTPUT1")],
});
const signature = sampleSignature(config);
const declared = (name: string) => ({ name, data_type: "TYPE_FP32", dims: [16] });
const bytes = configToBytes(
  configMessage({
    maxBatchSize: 8,
    input: [declared("INPUT0"), declared("INPUT1")],
    output: [declared("OUTPUT0"), declared("OUTPUT1")],
  }),
);
const session = new HostSession({
  port,
  slabs,
  clock: { nowNs: () => Bun.nanoseconds() },
  createBackend: () => ONNXRUNTIME_BACKEND.create(new RecordingLogger(), {}),
});
await session.receive({
  type: "open",
  backend: "onnxruntime",
  options: {
    modelName: "m",
    modelVersion: "1",
    modelDirectory: folder.directory("m"),
    versionDirectory: folder.directory("m/1"),
    config: bytes,
    device: { kind: "CPU", id: -1 },
    backendConfig: {},
    libraryPaths: {},
  },
});
await session.receive({ type: "createInstance", name: "m_0", signature, config: bytes });
const input = slabs.allocate(65_536);
await session.receive({ type: "inputSlab", slot: 0, handle: input.handle });
const inputs = ["INPUT0", "INPUT1"].map((name) => fp32Input(name, [1, 16], VALUES));
const batch = batchOf(validatedRequest(config, inputs));
const replies = new ReplyFrameReader();

/** CPU that this thread has used; the machine may be busy with other things. */
function cpuNs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]);
}

function measure(name: string, once: () => void): void {
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startNs = cpuNs();
    for (let i = 0; i < BATCHES_PER_ROUND; i++) once();
    samples.push((cpuNs() - startNs) / 1000 / BATCHES_PER_ROUND);
  }
  // The first rounds are the compiler's.
  printBench(name, "µs/batch", samples.slice(2));
}

writeBatchFrame(input, batch, signature);
measure("host: frame, run and reply", () => session.ring(0));
measure("main thread: frame in, reply out", () => {
  writeBatchFrame(input, batch, signature);
  replies.read(outputs);
});
await session.dispose();
folder[Symbol.dispose]();
process.exit(0);
