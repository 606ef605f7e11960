import type { Clock } from "../../base/clock.ts";
import type { Datatype } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import type { Shape } from "../../base/shape.ts";
import type {
  BatchInputTensor,
  ExecutionBatch,
  OutputBuffer,
} from "../backend/backend-instance.ts";
import type { Parameters } from "../request/request-signature.ts";
import type { OutputArea, OutputRoom } from "./output-area.ts";
import { ALL_REQUESTS, type Reply, type ReplyOutput } from "./reply-frame.ts";
import type { PlacedFrame } from "./slot-frame.ts";

const NO_ERRORS: ReadonlyMap<number, InferenceError> = new Map();
const NO_PARAMETERS: ReadonlyMap<number, Parameters> = new Map();

/** One batch in its host: what the backend sees of it, and what the reply is made of. */
export class HostBatch implements ExecutionBatch, Reply {
  readonly rowCount: number;
  readonly requestRows: readonly number[];
  readonly inputs: readonly BatchInputTensor[];
  readonly wantedOutputs: readonly number[];
  /** In the order of the model's outputs. */
  readonly outputs: ReplyOutput[] = [];
  errors: ReadonlyMap<number, InferenceError> = NO_ERRORS;
  parameters: ReadonlyMap<number, Parameters> = NO_PARAMETERS;

  /** Most batches have none. */
  #ownErrors: Map<number, InferenceError> | undefined;
  #ownParameters: Map<number, Parameters> | undefined;
  readonly #area: OutputArea;
  readonly #clock: Pick<Clock, "nowNs">;
  readonly #startNs: number;
  #inferStartNs: number;
  #inferEndNs: number | undefined;
  #endNs: number;

  /** @param startNs when the doorbell was heard. */
  constructor(frame: PlacedFrame, area: OutputArea, clock: Pick<Clock, "nowNs">, startNs: number) {
    this.rowCount = frame.rowCount;
    this.requestRows = frame.requestRows;
    this.wantedOutputs = frame.wantedOutputs;
    this.inputs = frame.inputs;
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
    const room = this.#area.allocate(byteLength);
    const { slabIndex, offsetBytes } = room;
    this.#put({ index, datatype, shape, slabIndex, offsetBytes, byteLength });
    return new OutputRoomBuffer(room, byteLength);
  }

  failRequest(requestIndex: number, error: InferenceError): void {
    this.#ownErrors ??= new Map();
    this.#ownErrors.set(requestIndex, executionFailure(error));
    this.errors = this.#ownErrors;
  }

  /** The whole batch is lost: what the backend had put out does not count. */
  failBatch(error: InferenceError): void {
    this.errors = new Map([[ALL_REQUESTS, executionFailure(error)]]);
    this.parameters = NO_PARAMETERS;
    this.outputs.length = 0;
  }

  setResponseParameters(parameters: Parameters, requestIndex: number = ALL_REQUESTS): void {
    this.#ownParameters ??= new Map();
    this.#ownParameters.set(requestIndex, parameters);
    this.parameters = this.#ownParameters;
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

  get computeInputNs(): number {
    return this.#inferStartNs - this.#startNs;
  }

  get computeInferNs(): number {
    return (this.#inferEndNs ?? this.#endNs) - this.#inferStartNs;
  }

  get computeOutputNs(): number {
    return this.#endNs - (this.#inferEndNs ?? this.#endNs);
  }

  /** Backends mostly give their outputs in order; the place is then the last one. */
  #put(output: ReplyOutput): void {
    const { outputs } = this;
    let at = outputs.length;
    while (at > 0 && (outputs[at - 1]?.index ?? -1) >= output.index) at -= 1;
    outputs.splice(at, outputs[at]?.index === output.index ? 1 : 0, output);
  }
}

/** What a backend threw, under the label that failed executions have in the metrics. */
export function executionFailure({ code, message }: InferenceError): InferenceError {
  return new InferenceError(code, message, {
    reason: code === "CANCELLED" ? "CANCELED" : "BACKEND",
  });
}

/** Room for an output; its view is made only when a backend asks for it. */
class OutputRoomBuffer implements OutputBuffer {
  readonly address: number;
  readonly #room: OutputRoom;
  readonly #byteLength: number;

  constructor(room: OutputRoom, byteLength: number) {
    this.address = room.slab.address + room.offsetBytes;
    this.#room = room;
    this.#byteLength = byteLength;
  }

  get bytes(): Uint8Array {
    const { slab, offsetBytes } = this.#room;
    return new Uint8Array(slab.bytes.buffer, offsetBytes, this.#byteLength);
  }
}
