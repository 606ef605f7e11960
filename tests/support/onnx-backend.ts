import type { JsonObject } from "@bufbuild/protobuf";
import { ONNXRUNTIME_BACKEND } from "../../src/backends/onnxruntime/backend.ts";
import type { Backend, Device, OpenModelOptions } from "../../src/core/backend/backend.ts";
import type { BackendInstance } from "../../src/core/backend/backend-instance.ts";
import type {
  BackendModel,
  ExecutionSignature,
  ExecutionTensor,
} from "../../src/core/backend/backend-model.ts";
import { configToBytes } from "../../src/core/config/config-bytes.ts";
import { configMessage } from "./onnx-config.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { TemporaryFolder } from "./temporary-folder.ts";

/** How a test opens a model. */
export interface OpenOnnxOptions {
  /** Configuration fields in protobuf's JSON form. */
  readonly fields?: Readonly<JsonObject>;
  readonly device?: Device;
  readonly backendConfig?: Readonly<Record<string, string>>;
  readonly sharedHandle?: number;
}

/** The onnxruntime backend with a folder for models. Needs the library. */
export class OnnxBackendSetup implements Disposable {
  readonly folder = new TemporaryFolder();
  readonly logger = new RecordingLogger();
  readonly backend: Backend;
  readonly #instances: Disposable[] = [];

  private constructor(backend: Backend) {
    this.backend = backend;
  }

  static async create(): Promise<OnnxBackendSetup> {
    return new OnnxBackendSetup(await ONNXRUNTIME_BACKEND.create(new RecordingLogger(), {}));
  }

  /** Options for a model `m` whose version directory is `<folder>/m/1`. */
  options({ fields, device, backendConfig, sharedHandle }: OpenOnnxOptions = {}): OpenModelOptions {
    return {
      modelName: "m",
      modelVersion: "1",
      modelDirectory: this.folder.directory("m"),
      versionDirectory: this.folder.directory("m/1"),
      config: configToBytes(configMessage(fields)),
      device: device ?? { kind: "CPU", id: -1 },
      backendConfig: backendConfig ?? {},
      libraryPaths: {},
      ...(sharedHandle === undefined ? {} : { sharedHandle }),
    };
  }

  /** Writes `m/1/model.onnx` and opens it; freed with this object. */
  async open(model: Uint8Array, options: OpenOnnxOptions = {}): Promise<BackendModel> {
    this.folder.file("m/1/model.onnx", model);
    const opened = await this.backend.openModel(this.options(options));
    this.#instances.unshift(opened);
    return opened;
  }

  /** Opens a model and makes an instance whose configuration lists all that the model reports. */
  async instance(
    model: Uint8Array,
    signature: Partial<ExecutionSignature> = {},
    options: OpenOnnxOptions = {},
  ): Promise<BackendInstance> {
    const opened = await this.open(model, options);
    const { inputs, outputs } = opened.report;
    const whole = {
      inputs: inputs.map(asReported),
      outputs: outputs.map(asReported),
      maxBatchSize: 0,
    };
    const wanted = { ...whole, ...signature };
    const config = configMessage({
      max_batch_size: wanted.maxBatchSize,
      input: wanted.inputs.map(({ name }) => ({ name })),
      ...options.fields,
    });
    const instance = await opened.createInstance("m_0", wanted, configToBytes(config));
    this.#instances.unshift(instance);
    return instance;
  }

  [Symbol.dispose](): void {
    for (const one of this.#instances) one[Symbol.dispose]();
    this.backend[Symbol.dispose]();
    this.folder[Symbol.dispose]();
  }
}

function asReported({
  name,
  datatype,
  shape,
}: BackendModel["report"]["inputs"][number]): ExecutionTensor {
  return { name, datatype: datatype ?? "FP32", shape: shape ?? [] };
}
