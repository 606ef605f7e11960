import { elementBytesOf } from "../../base/datatype.ts";
import type { BackendInstance, ExecutionBatch } from "../../core/backend/backend-instance.ts";
import type { ExecutionSignature, ExecutionTensor } from "../../core/backend/backend-model.ts";
import type { Parameters } from "../../core/request/request-signature.ts";

/** Bytes of an empty BYTES element: its length. */
const EMPTY_ELEMENT_BYTES = 4;

/** What every response of Triton's identity backend carries. */
const RESPONSE_PARAMETERS: Parameters = new Map([
  ["param0", { kind: "string", value: "an example string parameter" }],
  ["param1", { kind: "int64", value: 42n }],
  ["param2", { kind: "bool", value: false }],
  ["param3", { kind: "double", value: 123.123 }],
]);

/** Copies inputs to outputs, after a delay. */
export class IdentityInstance implements BackendInstance {
  readonly #signature: ExecutionSignature;
  readonly #inputByOutput: readonly number[];
  readonly #delayMs: number;

  /** @param inputByOutput index of the input that each output repeats. */
  constructor(signature: ExecutionSignature, inputByOutput: readonly number[], delayMs: number) {
    this.#signature = signature;
    this.#inputByOutput = inputByOutput;
    this.#delayMs = delayMs;
  }

  execute(batch: ExecutionBatch): void | Promise<void> {
    batch.markInferStart();
    if (this.#delayMs > 0) return this.#executeLater(batch);
    this.#repeatInputs(batch);
  }

  [Symbol.dispose](): void {
    return;
  }

  async #executeLater(batch: ExecutionBatch): Promise<void> {
    await Bun.sleep(this.#delayMs);
    this.#repeatInputs(batch);
  }

  #repeatInputs(batch: ExecutionBatch): void {
    batch.markInferEnd();
    for (const output of batch.wantedOutputs) {
      const inputIndex = this.#inputByOutput[output];
      const input = batch.inputs.find(({ index }) => index === inputIndex);
      const tensor = this.#signature.outputs[output];
      if (input !== undefined) {
        const { datatype, shape, bytes } = input;
        batch.allocateOutput(output, datatype, shape, bytes.length).bytes.set(bytes);
      } else if (tensor !== undefined) this.#fillWithZeros(batch, output, tensor);
    }
    batch.setResponseParameters(RESPONSE_PARAMETERS);
  }

  /** The output of an optional input that the requests left out. */
  #fillWithZeros(batch: ExecutionBatch, index: number, { datatype, shape }: ExecutionTensor): void {
    const dims = shape.map((dim) => (dim === -1 ? 1 : dim));
    if (this.#signature.maxBatchSize > 0) dims[0] = batch.rowCount;
    const count = dims.reduce((product, dim) => product * dim, 1);
    const byteLength = count * (elementBytesOf(datatype) || EMPTY_ELEMENT_BYTES);
    batch.allocateOutput(index, datatype, dims, byteLength).bytes.fill(0);
  }
}
