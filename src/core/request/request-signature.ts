import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";

/** A custom parameter of a request or response. int64 is a bigint beyond 2^53, else a number with `isInteger`. */
export type ParameterValue =
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "int64"; readonly value: bigint }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "double"; readonly value: number };

/** Parameters by name. */
export type Parameters = ReadonlyMap<string, ParameterValue>;

/** `TRITONSERVER_REQUEST_FLAG_SEQUENCE_START`. */
export const SEQUENCE_START = 1;
/** `TRITONSERVER_REQUEST_FLAG_SEQUENCE_END`. */
export const SEQUENCE_END = 2;

/** No parameters. */
export const NO_PARAMETERS: Parameters = new Map();

/** One input as the client described it; its bytes are in the request. */
export interface InputDescription {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
}

/** One output that the client asked for by name. */
export interface RequestedOutput {
  readonly name: string;
  /** Number of top classes to answer instead of the tensor; 0 = the tensor itself. */
  readonly classificationCount: number;
}

/** What a validated signature knows about the model it was checked against. Filled by `core/model/validate-request.ts`. */
export interface ValidatedSignature {
  /** Identity of the loaded model version; another load of the same version is another object. */
  readonly model: object;
  /** Rows of this request along the batch dimension; 1 for models that do not batch. */
  readonly batchSize: number;
  /**
   * For each input of the model in its execution order: index into `signature.inputs`, or −1 where an optional
   * input is absent.
   */
  readonly inputOrder: readonly number[];
  /** For each input of the model in execution order: shape that the backend sees (after reshape), batch dimension included. */
  readonly backendShapes: readonly Shape[];
  /** Bytes that each `signature.inputs[i]` must have; −1 for BYTES, whose elements are counted in each request. */
  readonly expectedBytes: readonly number[];
  /** Elements that each `signature.inputs[i]` must have. */
  readonly elementCounts: readonly number[];
  /**
   * Requests may share a batch only when their keys are equal: shapes of inputs with free dimensions, and which
   * optional inputs are present. Empty where the model needs no check.
   */
  readonly mergeKey: string;
  /** Indexes of the model's outputs to answer, ascending; undefined = all. */
  readonly outputIndexes: readonly number[] | undefined;
}

/** Fields of {@link RequestSignature}; see there. */
export interface RequestSignatureFields {
  readonly inputs: readonly InputDescription[];
  readonly outputs?: readonly RequestedOutput[];
  readonly parameters?: Parameters;
  readonly priority?: number;
  readonly timeoutMicroseconds?: number;
  readonly sequenceId?: bigint | string;
  readonly sequenceStart?: boolean;
  readonly sequenceEnd?: boolean;
}

/**
 * Everything that a request says except its id and its bytes. Immutable and shared: a codec that meets the same
 * header again hands out the same object, so parsing and validation happen once per distinct header.
 */
export class RequestSignature {
  readonly inputs: readonly InputDescription[];
  /** Outputs asked for by name; empty = all. */
  readonly outputs: readonly RequestedOutput[];
  readonly parameters: Parameters;
  /** 0 = the model's default level. */
  readonly priority: number;
  /** Queue timeout the client asked for, in µs; 0 = none. */
  readonly timeoutMicroseconds: number;
  /** Correlation id; 0n and "" = no sequence. */
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  /** `sequenceStart` and `sequenceEnd` as the bits {@link SEQUENCE_START} and {@link SEQUENCE_END}. */
  readonly sequenceFlags: number;
  /** Memo of the last successful validation; valid only while `validated.model` is the model being asked. */
  validated: ValidatedSignature | undefined = undefined;

  constructor(fields: RequestSignatureFields) {
    this.inputs = fields.inputs;
    this.outputs = fields.outputs ?? [];
    this.parameters = fields.parameters ?? NO_PARAMETERS;
    this.priority = fields.priority ?? 0;
    this.timeoutMicroseconds = fields.timeoutMicroseconds ?? 0;
    this.sequenceId = fields.sequenceId ?? 0n;
    this.sequenceStart = fields.sequenceStart ?? false;
    this.sequenceEnd = fields.sequenceEnd ?? false;
    this.sequenceFlags =
      (this.sequenceStart ? SEQUENCE_START : 0) | (this.sequenceEnd ? SEQUENCE_END : 0);
  }
}
