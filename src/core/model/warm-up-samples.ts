import { join } from "node:path";
import { type Datatype, datatypeFromCode, elementBytesOf } from "../../base/datatype.ts";
import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { readRegularFile } from "../config/read-regular-file.ts";
import { type InputDescription, RequestSignature } from "../request/request-signature.ts";
import type { TensorSpec } from "../tensor/tensor-spec.ts";
import { RequestValidator } from "./validate-request.ts";

type ModelWarmup = ModelConfig["message"]["modelWarmup"][number];
type ModelWarmupInput = ModelWarmup["inputs"][string];

/** One entry of `model_warmup`, checked against the model and with its data in memory. */
export interface WarmUpSample {
  readonly name: string;
  /** Requests of one row that run together. */
  readonly requestCount: number;
  /** How often each instance runs them. */
  readonly runCount: number;
  /** Validated. */
  readonly signature: RequestSignature;
  /** Of `signature.inputs[i]` at index i. */
  readonly inputBytes: readonly Uint8Array[];
}

/** Bytes of the length before each BYTES element. */
const LENGTH_BYTES = 4;

/**
 * Reads the samples of a configuration; those of batch size 0 are left out, as Triton does.
 *
 * @param modelDirectory absolute; data files lie in its folder `warmup`.
 * @throws InferenceError INVALID_ARG naming the sample that does not fit the model, or its file.
 */
export async function readWarmUpSamples(
  config: ModelConfig,
  signature: ExecutionSignature,
  modelDirectory: string,
): Promise<readonly WarmUpSample[]> {
  const wanted = config.message.modelWarmup.filter(({ batchSize }) => batchSize > 0);
  const reader = new SampleReader(config, signature, join(modelDirectory, "warmup"));
  return await Promise.all(wanted.map((sample) => reader.read(sample)));
}

/** The start of every message about a sample. */
export function samplePlace(sampleName: string, modelName: string): string {
  return `model_warmup sample '${sampleName}' of model '${modelName}'`;
}

class SampleReader {
  readonly #config: ModelConfig;
  readonly #inputs: readonly TensorSpec[];
  /** Filled in where a sample says nothing of them. */
  readonly #states: readonly InputDescription[];
  readonly #validator: RequestValidator;
  readonly #folder: string;

  constructor(config: ModelConfig, signature: ExecutionSignature, folder: string) {
    const { controls = [], states = [] } = config.sequenceBatching ?? {};
    this.#config = config;
    this.#folder = folder;
    this.#inputs = [
      ...config.inputs,
      ...controls.map(({ name, datatype }) => addedInput(name, datatype, [1])),
      ...states.map(({ inputName, datatype, dims }) => addedInput(inputName, datatype, dims)),
    ];
    this.#states = states.map(({ inputName, datatype, dims }) => ({
      name: inputName,
      datatype,
      shape: this.#withBatch(dims.map((dim) => (dim === -1 ? 1 : dim))),
    }));
    this.#validator = new RequestValidator(this, { ...config, inputs: this.#inputs }, signature);
  }

  async read(sample: ModelWarmup): Promise<WarmUpSample> {
    try {
      return await this.#read(sample);
    } catch (thrown) {
      const { message } = inferenceErrorFrom(thrown);
      throw new InferenceError(
        "INVALID_ARG",
        `${samplePlace(sample.name, this.#config.name)}: ${message}`,
        { cause: thrown },
      );
    }
  }

  async #read(sample: ModelWarmup): Promise<WarmUpSample> {
    const { maxBatchSize } = this.#config;
    const isBatching = maxBatchSize > 0;
    if (isBatching && sample.batchSize > maxBatchSize) {
      throw refusal(`batch_size is ${sample.batchSize}, max_batch_size ${maxBatchSize}`);
    }
    this.#checkNames(Object.keys(sample.inputs));
    const given = Object.entries(sample.inputs);
    const inputs = given.map(([name, input]) => this.#describe(name, input));
    const missing = this.#states.filter(({ name }) => sample.inputs[name] === undefined);
    const signature = new RequestSignature({ inputs: [...inputs, ...missing] });
    const validated = this.#validator.validate(signature, "");
    signature.validated = validated;
    const inputBytes = await Promise.all(
      signature.inputs.map(({ name, datatype }, i) => {
        const count = validated.elementCounts[i] ?? 0;
        return this.#data(name, datatype, count, sample.inputs[name]);
      }),
    );
    return {
      name: sample.name,
      requestCount: isBatching ? sample.batchSize : 1,
      runCount: Math.max(1, sample.count),
      signature,
      inputBytes,
    };
  }

  /** Names what is misspelt and what is missing in its place, in one message. */
  #checkNames(given: readonly string[]): void {
    const unknown = given.filter((name) => !this.#inputs.some((input) => input.name === name));
    if (unknown.length === 0) return;
    const missing = this.#inputs.filter(
      ({ name, isOptional }) =>
        !isOptional && !given.includes(name) && !this.#states.some((state) => state.name === name),
    );
    const rest =
      missing.length === 0
        ? ""
        : `; missing required input(s) [${quoted(missing.map(({ name }) => name))}]`;
    throw refusal(`the model has no input(s) [${quoted(unknown)}]${rest}`);
  }

  #describe(name: string, input: ModelWarmupInput): InputDescription {
    const datatype = datatypeFromCode(input.dataType);
    if (datatype === undefined) throw refusal(`input '${name}' has no data_type`);
    const dims = input.dims.map(Number);
    const isShapeTensor = this.#inputs.some((spec) => spec.name === name && spec.isShapeTensor);
    return { name, datatype, shape: isShapeTensor ? dims : this.#withBatch(dims) };
  }

  #withBatch(dims: Shape): Shape {
    return this.#config.maxBatchSize > 0 ? [1, ...dims] : dims;
  }

  async #data(
    name: string,
    datatype: Datatype,
    elementCount: number,
    input: ModelWarmupInput | undefined,
  ): Promise<Uint8Array> {
    const { case: kind, value } = input?.inputDataType ?? { case: "zeroData", value: true };
    if (kind === "inputDataFile") return await this.#fileData(name, datatype, elementCount, value);
    // Random strings are empty ones, as in Triton: a zero length is all that is sure to be one.
    if (kind === "randomData" && datatype !== "BYTES") return randomData(datatype, elementCount);
    return new Uint8Array(elementCount * (elementBytesOf(datatype) || LENGTH_BYTES));
  }

  /** The begin of the file for fixed-size elements; all of it for BYTES, whose elements are checked with a request. */
  async #fileData(
    name: string,
    datatype: Datatype,
    elementCount: number,
    file: string,
  ): Promise<Uint8Array> {
    const path = join(this.#folder, file);
    let bytes: Uint8Array;
    try {
      bytes = await readRegularFile(path);
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      throw refusal(`input '${name}' cannot be read from '${path}': ${text}`);
    }
    if (datatype === "BYTES") return bytes;
    const neededBytes = elementCount * elementBytesOf(datatype);
    if (bytes.length >= neededBytes) return bytes.subarray(0, neededBytes);
    throw refusal(
      `input '${name}' needs ${neededBytes} bytes, but the file '${path}' has ${bytes.length}`,
    );
  }
}

/**
 * Numbers that differ from each other and are harmless: any integer, and floats of [1, 2), where no bit pattern
 * stands for NaN or infinity. Little-endian.
 */
function randomData(datatype: Datatype, elementCount: number): Uint8Array {
  const bytes = new Uint8Array(elementCount * elementBytesOf(datatype));
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(Math.random() * 256);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < elementCount; i++) {
    const fraction = Math.random();
    if (datatype === "BOOL") view.setUint8(i, fraction < 0.5 ? 0 : 1);
    else if (datatype === "FP16") view.setUint16(i * 2, 0x3c00 + fraction * 0x400, true);
    else if (datatype === "BF16") view.setUint16(i * 2, 0x3f80 + fraction * 0x80, true);
    else if (datatype === "FP32") view.setFloat32(i * 4, 1 + fraction * 0.999, true);
    else if (datatype === "FP64") view.setFloat64(i * 8, 1 + fraction, true);
  }
  return bytes;
}

function addedInput(name: string, datatype: Datatype, dims: Shape): TensorSpec {
  return {
    name,
    datatype,
    dims,
    isOptional: false,
    allowsRaggedBatch: false,
    isShapeTensor: false,
  };
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(",");
}

function refusal(text: string): InferenceError {
  return new InferenceError("INVALID_ARG", text);
}
