import { join } from "node:path";
import type {
  ModelConfig as ModelConfigMessage,
  ModelSequenceBatching,
  ModelSequenceBatching_Control,
  ModelSequenceBatching_State,
} from "#gen/inference/model_config_pb.ts";
import { ModelSequenceBatching_Control_Kind as Kind } from "#gen/inference/model_config_pb.ts";
import { type Datatype, datatypeFromCode, elementBytesOf } from "../../base/datatype.ts";
import { InferenceError } from "../../base/error.ts";
import { elementCount, type Shape } from "../../base/shape.ts";
import { readRegularFile } from "./read-regular-file.ts";

/** How sequences share an instance. */
export type SequenceStrategy =
  | {
      readonly kind: "direct";
      readonly maxQueueDelayNs: number;
      /** 0..1: share of ready slots from which a batch does not wait for the delay. */
      readonly minimumSlotUtilization: number;
    }
  | {
      readonly kind: "oldest";
      readonly maxQueueDelayNs: number;
      /** Sequences that one instance works on at a time, ≥ 1. */
      readonly maxCandidateSequences: number;
      /** Ascending. */
      readonly preferredBatchSizes: readonly number[];
    };

/** A tensor that tells the model of the place in the sequence. */
export type SequenceControl =
  | {
      readonly kind: "START" | "END" | "READY";
      readonly name: string;
      readonly datatype: Datatype;
      /** The one element for false and for true. */
      readonly falseBytes: Uint8Array;
      readonly trueBytes: Uint8Array;
    }
  | { readonly kind: "CORRID"; readonly name: string; readonly datatype: Datatype };

/** A tensor that the server keeps between the requests of a sequence. */
export interface SequenceState {
  readonly inputName: string;
  readonly outputName: string;
  readonly datatype: Datatype;
  /** Without the batch dimension; −1 stands for any size. */
  readonly dims: Shape;
  /** What the first request of a sequence gets; without the batch dimension. */
  readonly initialShape: Shape;
  readonly initialBytes: Uint8Array;
}

/** `sequence_batching` of a configuration, ready to use. */
export interface SequenceBatching {
  readonly strategy: SequenceStrategy;
  readonly maxIdleNs: number;
  readonly isIterative: boolean;
  readonly controls: readonly SequenceControl[];
  readonly states: readonly SequenceState[];
}

const NS_PER_MICROSECOND = 1000;
/** Bytes of the length before each BYTES element. */
const LENGTH_BYTES = 4;

/**
 * Reads `sequence_batching`, initial states from their files included; undefined where a model has none.
 *
 * @param message completed and validated.
 * @throws InferenceError INVALID_ARG naming a file that cannot be read or is too short.
 */
export async function sequenceBatchingFrom(
  message: ModelConfigMessage,
  modelDirectory: string,
): Promise<SequenceBatching | undefined> {
  if (message.schedulingChoice.case !== "sequenceBatching") return undefined;
  const batching = message.schedulingChoice.value;
  const states = batching.state.map((state) => stateFrom(message.name, state, modelDirectory));
  return {
    strategy: strategyFrom(batching),
    maxIdleNs: Number(batching.maxSequenceIdleMicroseconds) * NS_PER_MICROSECOND,
    isIterative: batching.iterativeSequence,
    controls: batching.controlInput.flatMap(({ name, control }) =>
      control.map((one) => controlFrom(name, one)),
    ),
    states: await Promise.all(states),
  };
}

function strategyFrom({ strategyChoice }: ModelSequenceBatching): SequenceStrategy {
  if (strategyChoice.case === "oldest") {
    const { maxCandidateSequences, maxQueueDelayMicroseconds, preferredBatchSize } =
      strategyChoice.value;
    return {
      kind: "oldest",
      maxQueueDelayNs: Number(maxQueueDelayMicroseconds) * NS_PER_MICROSECOND,
      maxCandidateSequences: Math.max(1, maxCandidateSequences),
      preferredBatchSizes: [...preferredBatchSize].sort((a, b) => a - b),
    };
  }
  return {
    kind: "direct",
    maxQueueDelayNs:
      Number(strategyChoice.value?.maxQueueDelayMicroseconds ?? 0n) * NS_PER_MICROSECOND,
    minimumSlotUtilization: strategyChoice.value?.minimumSlotUtilization ?? 0,
  };
}

const SIGNAL_KINDS = {
  [Kind.CONTROL_SEQUENCE_START]: "START",
  [Kind.CONTROL_SEQUENCE_READY]: "READY",
  [Kind.CONTROL_SEQUENCE_END]: "END",
} as const;

function controlFrom(name: string, control: ModelSequenceBatching_Control): SequenceControl {
  if (control.kind === Kind.CONTROL_SEQUENCE_CORRID) {
    return { kind: "CORRID", name, datatype: datatypeFromCode(control.dataType) ?? "UINT64" };
  }
  const kind = SIGNAL_KINDS[control.kind as keyof typeof SIGNAL_KINDS];
  const [int32, fp32, bool] = [
    control.int32FalseTrue,
    control.fp32FalseTrue,
    control.boolFalseTrue,
  ];
  if (int32.length > 0) return { kind, name, datatype: "INT32", ...signalBytes(Int32Array, int32) };
  if (fp32.length > 0) return { kind, name, datatype: "FP32", ...signalBytes(Float32Array, fp32) };
  return { kind, name, datatype: "BOOL", ...signalBytes(Uint8Array, bool.map(Number)) };
}

type ElementArray = typeof Int32Array | typeof Float32Array | typeof Uint8Array;

function signalBytes(
  elements: ElementArray,
  falseTrue: readonly number[],
): { falseBytes: Uint8Array; trueBytes: Uint8Array } {
  const bytesOf = (value: number) => new Uint8Array(new elements([value]).buffer);
  return { falseBytes: bytesOf(falseTrue[0] ?? 0), trueBytes: bytesOf(falseTrue[1] ?? 1) };
}

async function stateFrom(
  modelName: string,
  state: ModelSequenceBatching_State,
  modelDirectory: string,
): Promise<SequenceState> {
  const datatype = datatypeFromCode(state.dataType) ?? "UINT8";
  const dims = state.dims.map(Number);
  const [initial] = state.initialState;
  const initialShape = initial?.dims.map(Number) ?? dims.map((dim) => (dim === -1 ? 1 : dim));
  const file = initial?.stateData.case === "dataFile" ? initial.stateData.value : undefined;
  const initialBytes =
    file === undefined
      ? zeroBytes(datatype, initialShape)
      : await fileBytes(modelName, state.inputName, join(modelDirectory, "initial_state", file), {
          datatype,
          shape: initialShape,
        });
  return {
    inputName: state.inputName,
    outputName: state.outputName,
    datatype,
    dims,
    initialShape,
    initialBytes,
  };
}

/** Zeros; empty texts where the elements are BYTES. */
function zeroBytes(datatype: Datatype, shape: Shape): Uint8Array {
  return new Uint8Array(elementCount(shape) * (elementBytesOf(datatype) || LENGTH_BYTES));
}

/** The head of a file: it may hold more than the state needs. */
async function fileBytes(
  modelName: string,
  stateName: string,
  path: string,
  { datatype, shape }: { readonly datatype: Datatype; readonly shape: Shape },
): Promise<Uint8Array> {
  const refuse = (fault: string, cause?: unknown): never => {
    throw new InferenceError(
      "INVALID_ARG",
      `initial state of '${stateName}' for model '${modelName}': ${fault} ${path}`,
      { cause },
    );
  };
  let bytes: Uint8Array;
  try {
    bytes = await readRegularFile(path);
  } catch (thrown) {
    return refuse("cannot read file", thrown);
  }
  const neededBytes =
    datatype === "BYTES"
      ? textBytes(bytes, elementCount(shape))
      : elementCount(shape) * elementBytesOf(datatype);
  if (bytes.length < neededBytes) {
    return refuse(`needs ${neededBytes} bytes, but there are ${bytes.length} in file`);
  }
  return new Uint8Array(bytes.subarray(0, neededBytes));
}

/** Bytes of the first `count` elements of a BYTES tensor; beyond the end where there are fewer. */
function textBytes(bytes: Uint8Array, count: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + LENGTH_BYTES > bytes.length) return at + LENGTH_BYTES;
    at += LENGTH_BYTES + view.getUint32(at, true);
  }
  return at;
}
