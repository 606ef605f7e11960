import { addressOf } from "#ffi/memory.ts";
import { type Datatype, elementBytesOf } from "../../src/base/datatype.ts";
import type { InferenceError } from "../../src/base/error.ts";
import type { Shape } from "../../src/base/shape.ts";
import type {
  BatchInputTensor,
  ExecutionBatch,
  OutputBuffer,
} from "../../src/core/backend/backend-instance.ts";
import type { Parameters } from "../../src/core/request/request-signature.ts";

const ALIGNMENT_BYTES = 64;

/** An output as the instance left it. */
export interface TestOutput {
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** An input of a {@link TestBatch}. */
export interface TestInput {
  readonly index: number;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** Aligned memory that stays where it is. */
function aligned(byteLength: number): Uint8Array {
  const whole = new Uint8Array(new ArrayBuffer(byteLength + 2 * ALIGNMENT_BYTES));
  const offset = (ALIGNMENT_BYTES - (addressOf(whole) % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES;
  return whole.subarray(offset, offset + byteLength);
}

function addressInside(bytes: Uint8Array): number {
  return addressOf(new Uint8Array(bytes.buffer)) + bytes.byteOffset;
}

/** A batch without a host: what a backend's instance sees, and what it left. */
export class TestBatch implements ExecutionBatch {
  readonly rowCount: number;
  readonly requestRows: readonly number[];
  readonly inputs: readonly BatchInputTensor[];
  readonly wantedOutputs: readonly number[];
  readonly outputs = new Map<number, TestOutput>();
  readonly failures = new Map<number, InferenceError>();
  /** Calls in their order: `allocate <index>`, `start`, `end`. */
  readonly calls: string[] = [];

  /** @param requestRows rows of each request; one request of one row where nothing is said. */
  constructor(
    inputs: readonly TestInput[],
    wantedOutputs: readonly number[],
    requestRows: readonly number[] = [1],
  ) {
    this.requestRows = requestRows;
    this.rowCount = requestRows.reduce((sum, rows) => sum + rows, 0);
    this.wantedOutputs = wantedOutputs;
    this.inputs = inputs.map((input) => {
      const bytes = aligned(input.bytes.byteLength);
      bytes.set(input.bytes);
      return {
        ...input,
        bytes,
        byteLength: bytes.byteLength,
        address: addressInside(bytes),
      };
    });
  }

  allocateOutput(
    index: number,
    datatype: Datatype,
    shape: Shape,
    byteLength: number,
  ): OutputBuffer {
    this.calls.push(`allocate ${index}`);
    const bytes = aligned(byteLength);
    this.outputs.set(index, { datatype, shape, bytes });
    return { bytes, address: addressInside(bytes) };
  }

  failRequest(requestIndex: number, error: InferenceError): void {
    this.failures.set(requestIndex, error);
  }

  setResponseParameters(_parameters: Parameters): void {
    return;
  }

  markInferStart(): void {
    this.calls.push("start");
  }

  markInferEnd(): void {
    this.calls.push("end");
  }

  /** @throws Error when the instance did not make it, or with a length that its shape has not. */
  output(index: number): TestOutput {
    const output = this.outputs.get(index);
    if (output === undefined) throw new Error(`the batch has no output ${index}`);
    const count = output.shape.reduce((product, dim) => product * dim, 1);
    const expected = count * elementBytesOf(output.datatype);
    if (output.datatype !== "BYTES" && output.bytes.byteLength !== expected) {
      throw new Error(`output ${index} has ${output.bytes.byteLength} bytes, not ${expected}`);
    }
    return output;
  }
}
