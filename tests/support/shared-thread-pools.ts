/** Runs one request on thread pools that all sessions share, and prints the values that come out. */
import { OnnxBackendSetup } from "./onnx-backend.ts";
import { identityModel } from "./onnx-model.ts";
import { TestBatch } from "./test-batch.ts";

const VALUES = new Float32Array([1, 2]);

using setup = await OnnxBackendSetup.create();
const backendConfig = { "enable-global-threadpool": "1", intra_op_thread_count: "2" };
const instance = await setup.instance(identityModel("FP32", [2]), {}, { backendConfig });
const bytes = new Uint8Array(VALUES.buffer);
const batch = new TestBatch([{ index: 0, datatype: "FP32", shape: [2], bytes }], [0]);
instance.execute(batch);
process.stdout.write(new Float32Array(batch.output(0).bytes.slice().buffer).join());
