import type { Clock } from "../../base/clock.ts";
import type { Datatype } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type {
  BatchInputTensor,
  ExecutionBatch,
  OutputBuffer,
} from "../backend/backend-instance.ts";
import type { Slab } from "../memory/slab.ts";
import type { Parameters } from "../request/request-signature.ts";
import { type BatchFrame, type FrameTensor, readBatchFrame } from "./batch-frame.ts";
import type { OutputArea } from "./output-area.ts";
import { ALL_REQUESTS, type Reply, type ReplyOutput } from "./reply-frame.ts";

/** One batch in its host: what the backend sees of it, and what the reply is made of. */
export class HostBatch implements ExecutionBatch, Reply {
  readonly rowCount: number;
  readonly requestRows: readonly number[];
  readonly inputs: readonly BatchInputTensor[];
  readonly wantedOutputs: readonly number[];
  readonly errors = new Map<number, InferenceError>();
  readonly parameters = new Map<number, Parameters>();

  readonly #area: OutputArea;
  readonly #clock: Pick<Clock, "nowNs">;
  readonly #startNs: number;
  #inferStartNs: number;
  #inferEndNs: number | undefined;
  #endNs: number;
  readonly #outputs = new Map<number, ReplyOutput>();

  /** @param input holds the frame. @param startNs when the doorbell was heard. @throws Error for a bad frame. */
  constructor(input: Slab, area: OutputArea, clock: Pick<Clock, "nowNs">, startNs: number) {
    const frame: BatchFrame = readBatchFrame(input.words);
    this.rowCount = frame.rowCount;
    this.requestRows = frame.requestRows;
    this.wantedOutputs = frame.wantedOutputs;
    this.inputs = frame.inputs.map((tensor) => new SlabInput(input, tensor));
    this.#area = area;
    this.#clock = clock;
    this.#startNs = startNs;
    this.#inferStartNs = startNs;
    this.#endNs = startNs;
  }

  allocateOutput(
    index: number,
    datatype: Datatype,
    shape: Shape,
    byteLength: number,
  ): OutputBuffer {
    const { slabIndex, offsetBytes, slab } = this.#area.allocate(byteLength);
    this.#outputs.set(index, { index, datatype, shape, slabIndex, offsetBytes, byteLength });
    return {
      bytes: new Uint8Array(slab.bytes.buffer, offsetBytes, byteLength),
      address: slab.address + offsetBytes,
    };
  }

  failRequest(requestIndex: number, error: InferenceError): void {
    this.errors.set(requestIndex, executionFailure(error));
  }

  /** The whole batch is lost: what the backend had put out does not count. */
  failBatch(error: InferenceError): void {
    this.errors.clear();
    this.errors.set(ALL_REQUESTS, executionFailure(error));
    this.parameters.clear();
    this.#outputs.clear();
  }

  setResponseParameters(parameters: Parameters, requestIndex: number = ALL_REQUESTS): void {
    this.parameters.set(requestIndex, parameters);
  }

  markInferStart(): void {
    this.#inferStartNs = this.#clock.nowNs();
  }

  markInferEnd(): void {
    this.#inferEndNs = this.#clock.nowNs();
  }

  /** `execute` is over. Without marks all its time counts as inference. */
  markEnd(): void {
    this.#endNs = this.#clock.nowNs();
  }

  /** In the order of the model's outputs. */
  get outputs(): Iterable<ReplyOutput> {
    if (this.#outputs.size < 2) return this.#outputs.values();
    return [...this.#outputs.values()].sort((a, b) => a.index - b.index);
  }

  get outputCount(): number {
    return this.#outputs.size;
  }

  get computeInputNs(): number {
    return this.#inferStartNs - this.#startNs;
  }

  get computeInferNs(): number {
    return (this.#inferEndNs ?? this.#endNs) - this.#inferStartNs;
  }

  get computeOutputNs(): number {
    return this.#endNs - (this.#inferEndNs ?? this.#endNs);
  }
}

/** What a backend threw, under the label that failed executions have in the metrics. */
export function executionFailure({ code, message }: InferenceError): InferenceError {
  return new InferenceError(code, message, {
    reason: code === "CANCELLED" ? "CANCELED" : "BACKEND",
  });
}

/** An input whose view is made only when a backend asks for it; many need but the address. */
class SlabInput implements BatchInputTensor {
  readonly index: number;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly address: number;
  readonly #slab: Slab;
  readonly #tensor: FrameTensor;
  #bytes: Uint8Array | undefined;

  constructor(slab: Slab, tensor: FrameTensor) {
    this.index = tensor.index;
    this.datatype = tensor.datatype;
    this.shape = tensor.shape;
    this.address = slab.address + tensor.offsetBytes;
    this.#slab = slab;
    this.#tensor = tensor;
  }

  get bytes(): Uint8Array {
    this.#bytes ??= new Uint8Array(
      this.#slab.bytes.buffer,
      this.#tensor.offsetBytes,
      this.#tensor.byteLength,
    );
    return this.#bytes;
  }
}
