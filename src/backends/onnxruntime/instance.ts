import { NativeError } from "#ffi/native-error.ts";
import { MemoryInfo } from "#ffi/onnxruntime/memory-info.ts";
import { RunCall } from "#ffi/onnxruntime/run-call.ts";
import { RunOptions } from "#ffi/onnxruntime/run-options.ts";
import type { GraphTensor, Session } from "#ffi/onnxruntime/session.ts";
import { TerminateHandle } from "#ffi/onnxruntime/terminate-run.ts";
import type { Value } from "#ffi/onnxruntime/value.ts";
import { elementBytesOf } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import { elementCount, formatShape, type Shape } from "../../base/shape.ts";
import type {
  BackendInstance,
  BatchInputTensor,
  ExecutionBatch,
} from "../../core/backend/backend-instance.ts";
import type { ExecutionSignature } from "../../core/backend/backend-model.ts";
import { datatypeFrom, elementTypeOf } from "./datatypes.ts";
import { inferenceErrorFromNative } from "./native-failure.ts";
import { type OutputShape, outputShapes } from "./output-shapes.ts";
import { stringElementsOf, stringValue, writeStringElements } from "./string-tensors.ts";
import { ValueCache } from "./value-cache.ts";

/** What an {@link OnnxInstance} is made of. */
export interface OnnxInstanceOptions {
  readonly modelName: string;
  /** Borrowed: must outlive the instance. */
  readonly session: Session;
  readonly signature: ExecutionSignature;
  readonly runEntries: ReadonlyMap<string, string>;
}

/** How onnxruntime says that a prepared output has another shape than the one computed. */
const WRONG_OUTPUT_SHAPE = /provided for output|dimensions for output|shape verification failed/;
/** How it says that it was asked to stop. */
const TERMINATED = /terminate flag/i;

const SCALAR: Shape = [];

/** Runs batches of one model. Blocks its host while a batch runs. */
export class OnnxInstance implements BackendInstance {
  readonly #modelName: string;
  readonly #session: Session;
  readonly #signature: ExecutionSignature;
  readonly #graphInputs: readonly (GraphTensor | undefined)[];
  readonly #graphOutputs: readonly (GraphTensor | undefined)[];
  readonly #outputShapes: readonly OutputShape[];
  /** Outputs whose shape was predicted wrongly once, and is left to onnxruntime since. */
  readonly #unpredictable = new Set<number>();
  readonly #info: MemoryInfo;
  readonly #runOptions: RunOptions;
  readonly #terminate: TerminateHandle;
  readonly #values: ValueCache;
  readonly #call: RunCall;
  /** Inputs of the running batch by signature index. */
  readonly #inputs: (BatchInputTensor | undefined)[];
  /** Values of the running batch that are not the cache's. */
  readonly #ownValues: Value[] = [];
  /** For each wanted output of the running batch: whether the run writes into a prepared place. */
  readonly #isPrepared: boolean[] = [];

  /** @throws NativeError */
  constructor({ modelName, session, signature, runEntries }: OnnxInstanceOptions) {
    const { api } = session;
    this.#modelName = modelName;
    this.#session = session;
    this.#signature = signature;
    const inputs = [...session.inputs, ...session.overridableInitializers];
    const graphTensor = (list: readonly GraphTensor[], name: string) =>
      list.find((tensor) => tensor.name === name);
    this.#graphInputs = signature.inputs.map(({ name }) => graphTensor(inputs, name));
    this.#graphOutputs = signature.outputs.map(({ name }) => graphTensor(session.outputs, name));
    this.#outputShapes = outputShapes({ inputs, outputs: session.outputs }, signature);
    this.#inputs = new Array(signature.inputs.length);
    this.#info = new MemoryInfo(api);
    this.#runOptions = new RunOptions(api);
    for (const [key, value] of runEntries) this.#runOptions.addConfigEntry(key, value);
    this.#terminate = new TerminateHandle(api, this.#runOptions);
    this.#values = new ValueCache(api, this.#info);
    this.#call = new RunCall(session, this.#runOptions, {
      inputs: signature.inputs.map(({ name }) => name),
      outputs: signature.outputs.map(({ name }) => name),
    });
  }

  get cancelHandle(): number {
    return this.#terminate.address;
  }

  execute(batch: ExecutionBatch): void {
    try {
      // A request to end the last batch may have come after that was over.
      this.#runOptions.unsetTerminate();
      this.#values.reserve(this.#signature.inputs.length + this.#signature.outputs.length);
      this.#inputs.fill(undefined);
      for (const input of batch.inputs) this.#inputs[input.index] = input;
      this.#run(batch);
      for (let at = 0; at < batch.wantedOutputs.length; at++) {
        if (this.#isPrepared[at] !== true) this.#fetchOutput(batch, at);
      }
    } catch (error) {
      throw this.#failure(error);
    } finally {
      this.#call.end();
      for (const value of this.#ownValues) value[Symbol.dispose]();
      this.#ownValues.length = 0;
    }
  }

  [Symbol.dispose](): void {
    this.#values[Symbol.dispose]();
    this.#terminate[Symbol.dispose]();
    this.#runOptions[Symbol.dispose]();
    this.#info[Symbol.dispose]();
  }

  #run(batch: ExecutionBatch): void {
    this.#call.begin();
    for (const input of batch.inputs) this.#call.addInput(input.index, this.#inputValue(input));
    this.#addOutputs(batch);
    batch.markInferStart();
    try {
      this.#call.run();
    } catch (error) {
      if (!this.#forgetPredictions(batch, error)) throw error;
      this.#call.begin();
      for (const input of batch.inputs) this.#call.addInput(input.index, this.#inputValue(input));
      this.#addOutputs(batch);
      this.#call.run();
    }
    batch.markInferEnd();
  }

  #inputValue(input: BatchInputTensor): Value {
    const graph = this.#graphInputs[input.index];
    // A graph's scalar is one element for clients.
    const shape = graph?.dimensions?.length === 0 ? SCALAR : input.shape;
    if (input.datatype === "BYTES") {
      const name = graph?.name ?? "";
      const { bytes, address } = input;
      const value = stringValue(this.#session.api, { name, bytes, address }, shape);
      this.#ownValues.push(value);
      return value;
    }
    return this.#values.get({
      address: input.address,
      byteLength: input.byteLength,
      elementType: elementTypeOf(input.datatype),
      shape,
    });
  }

  #addOutputs(batch: ExecutionBatch): void {
    const { wantedOutputs } = batch;
    for (let at = 0; at < wantedOutputs.length; at++) {
      const index = wantedOutputs[at] ?? 0;
      const value = this.#preparedOutput(batch, index);
      this.#isPrepared[at] = value !== undefined;
      this.#call.addOutput(index, value);
    }
  }

  /** A place in the output slab that the run writes into; undefined where the shape is not known yet. */
  #preparedOutput(batch: ExecutionBatch, index: number): Value | undefined {
    if (this.#unpredictable.has(index)) return undefined;
    const shape = this.#outputShapes[index]?.(this.#inputs, batch.rowCount);
    const datatype = this.#signature.outputs[index]?.datatype;
    if (shape === undefined || datatype === undefined) return undefined;
    const byteLength = elementCount(shape) * elementBytesOf(datatype);
    const seenShape = this.#shapeForClients(index, shape);
    const { address } = batch.allocateOutput(index, datatype, seenShape, byteLength);
    return this.#values.get({
      address,
      byteLength,
      elementType: elementTypeOf(datatype),
      shape,
    });
  }

  /** A scalar that the configuration declares with one element has the shape `[1]` outside. */
  #shapeForClients(index: number, shape: Shape): Shape {
    if (shape.length > 0) return shape;
    return this.#signature.outputs[index]?.shape.length === 0 ? SCALAR : ONE_ELEMENT;
  }

  /**
   * A graph may break what the names of its dimensions promise. Then its prepared outputs did not fit: from now on
   * onnxruntime allocates them.
   * @returns whether it is worth while to run again.
   */
  #forgetPredictions({ wantedOutputs }: ExecutionBatch, error: unknown): boolean {
    if (!(error instanceof NativeError) || !WRONG_OUTPUT_SHAPE.test(error.text)) return false;
    const prepared = wantedOutputs.filter((_, at) => this.#isPrepared[at]);
    for (const index of prepared) this.#unpredictable.add(index);
    return prepared.length > 0;
  }

  /** Copies an output that onnxruntime allocated into the slab. */
  #fetchOutput(batch: ExecutionBatch, at: number): void {
    const index = batch.wantedOutputs[at] ?? 0;
    const name = this.#signature.outputs[index]?.name ?? "";
    using value = this.#call.takeOutput(at);
    if (this.#graphOutputs[index]?.kind !== "tensor" && !value.isTensor) {
      throw this.#says(`output '${name}' has no tensor in this run`);
    }
    const { elementType, shape } = value.describe();
    this.#checkRows(name, shape, batch.rowCount);
    const datatype = datatypeFrom(elementType);
    if (datatype === undefined) throw this.#says(`output '${name}' has type '${elementType}'`);
    const seenShape = this.#shapeForClients(index, shape);
    const count = elementCount(shape);
    if (datatype === "BYTES") {
      const strings = stringElementsOf(value, count);
      const { bytes } = batch.allocateOutput(index, datatype, seenShape, strings.byteLength);
      writeStringElements(strings, bytes);
      return;
    }
    const byteLength = count * elementBytesOf(datatype);
    value.copyTo(batch.allocateOutput(index, datatype, seenShape, byteLength).address, byteLength);
  }

  /** Outputs are cut by rows afterwards, so there must be a row for each row that went in. */
  #checkRows(name: string, shape: Shape, rowCount: number): void {
    if (this.#signature.maxBatchSize === 0 || shape[0] === rowCount) return;
    throw this.#says(
      `failed to split the output tensor '${name}' in responses: expected batch size of ${rowCount} in model ` +
        `output, got shape ${formatShape(shape)}`,
    );
  }

  #says(text: string): InferenceError {
    return new InferenceError("INTERNAL", `model '${this.#modelName}': ${text}`, {
      reason: "BACKEND",
    });
  }

  #failure(error: unknown): unknown {
    if (error instanceof NativeError && TERMINATED.test(error.text)) {
      const text = `execution of model '${this.#modelName}' was stopped because its requests were cancelled`;
      return new InferenceError("CANCELLED", text, { cause: error, reason: "CANCELED" });
    }
    return inferenceErrorFromNative(error);
  }
}

const ONE_ELEMENT: Shape = [1];
