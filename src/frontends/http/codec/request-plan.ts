import type { Datatype } from "../../../base/datatype.ts";
import { isDatatype } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import { elementCount, formatShape } from "../../../base/shape.ts";
import type { Model } from "../../../core/model/model.ts";
import type { InputDescription } from "../../../core/request/request-signature.ts";
import { RequestSignature } from "../../../core/request/request-signature.ts";
import type { HeaderInput, HeaderOutput, InferHeader } from "./infer-header.ts";
import type { ResponseTemplate } from "./response-template.ts";

/**
 * What one header says, prepared for all requests that carry it again: the signature for the core, where the bytes
 * of the inputs lie, and in which form each output leaves.
 */
export interface RequestPlan {
  readonly signature: RequestSignature;
  /** Bytes of each input in the binary tail; −1 for inputs given as JSON data. */
  readonly tailBytes: readonly number[];
  /** Outputs that leave as a binary blob, by name; undefined = `isBinaryByDefault` decides for all. */
  readonly binaryOutputs: ReadonlySet<string> | undefined;
  readonly isBinaryByDefault: boolean;
  /** Head of the last all-binary response, see `infer-response.ts`. */
  template: ResponseTemplate | undefined;
}

/** A request body, understood. */
export interface DecodedRequest {
  readonly plan: RequestPlan;
  /** "" when the request has none. */
  readonly id: string;
  /** Bytes of `plan.signature.inputs[i]`; views of the body, or copies where those are cheaper. */
  readonly inputBytes: readonly Uint8Array[];
}

/**
 * Prepares a header for one model.
 *
 * @throws InferenceError INVALID_ARG for datatypes that do not exist and shapes beyond counting, NOT_FOUND for
 *   shared-memory regions (none can be registered).
 */
export function planFromHeader(header: InferHeader, model: Model): RequestPlan {
  const inputs = header.inputs.map((input) => describeInput(input, model));
  const outputs = distinct(header.outputs);
  const signature = new RequestSignature({
    inputs,
    outputs: outputs.map(({ name, classificationCount }) => ({ name, classificationCount })),
    parameters: header.parameters,
    priority: header.priority,
    timeoutMicroseconds: header.timeoutMicroseconds,
    sequenceId: header.sequenceId,
    sequenceStart: header.sequenceStart,
    sequenceEnd: header.sequenceEnd,
  });
  const binary = outputs.filter((output) => output.isBinary).map((output) => output.name);
  return {
    signature,
    tailBytes: header.inputs.map(({ source }) =>
      source.kind === "binary" ? source.byteLength : -1,
    ),
    binaryOutputs: outputs.length > 0 ? new Set(binary) : undefined,
    isBinaryByDefault: header.isBinaryByDefault,
    template: undefined,
  };
}

/** An output asked for twice is answered once, in the form that was asked for first. */
function distinct(outputs: readonly HeaderOutput[]): HeaderOutput[] {
  const byName = new Map<string, HeaderOutput>();
  for (const output of outputs) {
    if (output.sharedMemoryRegion !== undefined) refuseRegion(output.sharedMemoryRegion);
    if (!byName.has(output.name)) byName.set(output.name, output);
  }
  return [...byName.values()];
}

function describeInput(input: HeaderInput, model: Model): InputDescription {
  if (input.source.kind === "sharedMemory") refuseRegion(input.source.region);
  const datatype = knownDatatype(input, model);
  if (Number.isNaN(elementCount(input.shape))) {
    throw new InferenceError(
      "INVALID_ARG",
      `input '${input.name}' for model '${model.name}' has shape ${formatShape(input.shape)}, whose number of elements is beyond what any tensor can have`,
    );
  }
  return { name: input.name, datatype, shape: input.shape };
}

function knownDatatype(input: HeaderInput, model: Model): Datatype {
  if (isDatatype(input.datatype)) return input.datatype;
  const spec = model.config.inputs.find((candidate) => candidate.name === input.name);
  if (!spec) {
    throw new InferenceError(
      "INVALID_ARG",
      `unexpected inference input '${input.name}' for model '${model.name}'`,
    );
  }
  throw new InferenceError(
    "INVALID_ARG",
    `inference input '${input.name}' data-type is '${input.datatype}', but model '${model.name}' expects '${spec.datatype}'`,
  );
}

function refuseRegion(region: string): never {
  throw new InferenceError("NOT_FOUND", `Unable to find shared memory region: '${region}'`);
}
