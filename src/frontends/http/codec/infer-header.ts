import { InferenceError } from "../../../base/error.ts";
import {
  expectKind,
  KIND_WORDS,
  readBooleanMember,
  readSizeMember,
  readStringMember,
  readUnsignedMember,
  unableToParse,
} from "./json-members.ts";
import type { JsonReader } from "./json-reader.ts";
import type { RequestParameters } from "./request-parameters.ts";
import { NO_REQUEST_PARAMETERS, readRequestParameters } from "./request-parameters.ts";

/** Where the elements of an input come from. Exactly one, by the protocol. */
export type InputSource =
  /** A JSON array: its range in the body. */
  | { readonly kind: "json"; readonly start: number; readonly end: number }
  /** So many bytes of the binary tail. */
  | { readonly kind: "binary"; readonly byteLength: number }
  /** A registered region. */
  | { readonly kind: "sharedMemory"; readonly region: string };

/** One entry of `inputs`, not yet held against any model. */
export interface HeaderInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly source: InputSource;
}

/** One entry of `outputs`. */
export interface HeaderOutput {
  readonly name: string;
  readonly isBinary: boolean;
  /** 0 = no classification. */
  readonly classificationCount: number;
  /** Region that should take the result; undefined = the response carries it. */
  readonly sharedMemoryRegion: string | undefined;
}

/** The JSON part of an infer request, as far as it can be understood without a model. */
export interface InferHeader extends RequestParameters {
  /** "" when the request has none. */
  readonly id: string;
  readonly inputs: readonly HeaderInput[];
  readonly outputs: readonly HeaderOutput[];
}

/**
 * Reads the JSON part of an infer request. Members that nobody asked for are passed over; of members given twice the
 * first counts.
 *
 * @throws InferenceError INVALID_ARG naming the member.
 * @see reference: KServe v2 inference protocol, "Inference Request JSON Object", and Triton's extensions to it.
 */
export function readInferHeader(reader: JsonReader): InferHeader {
  let id: string | undefined;
  let inputs: HeaderInput[] | undefined;
  let outputs: HeaderOutput[] | undefined;
  let parameters: RequestParameters | undefined;
  if (reader.peek() !== "object") {
    unableToParse(
      "inputs",
      `expected the request to be an object, got ${KIND_WORDS[reader.peek()]}`,
    );
  }
  reader.object((key) => {
    if (key === "id" && id === undefined) id = readStringMember(reader, "id");
    else if (key === "inputs" && !inputs) inputs = readInputs(reader);
    else if (key === "outputs" && !outputs) outputs = readOutputs(reader);
    else if (key === "parameters" && !parameters) parameters = readRequestParameters(reader);
    else reader.skip();
  });
  reader.finish();
  if (!inputs) unableToParse("inputs", "the request has no such member");
  return {
    id: id ?? "",
    inputs,
    outputs: outputs ?? [],
    ...(parameters ?? NO_REQUEST_PARAMETERS),
  };
}

function readInputs(reader: JsonReader): HeaderInput[] {
  expectKind(reader, "array", "inputs");
  const inputs: HeaderInput[] = [];
  reader.array(() => {
    expectKind(reader, "object", "inputs");
    inputs.push(readInput(reader));
  });
  return inputs;
}

function readInput(reader: JsonReader): HeaderInput {
  let name: string | undefined;
  let datatype: string | undefined;
  let shape: number[] | undefined;
  let data: InputSource | undefined;
  let fromParameters: InputSource[] = [];
  reader.object((key) => {
    if (key === "name" && name === undefined) name = readStringMember(reader, "name");
    else if (key === "datatype" && datatype === undefined) {
      datatype = readStringMember(reader, "datatype");
    } else if (key === "shape" && !shape) shape = readShape(reader);
    else if (key === "data" && !data) {
      expectKind(reader, "array", "data");
      const start = reader.at;
      reader.skip();
      data = { kind: "json", start, end: reader.at };
    } else if (key === "parameters" && fromParameters.length === 0) {
      fromParameters = readInputParameters(reader);
    } else reader.skip();
  });
  if (name === undefined) unableToParse("name", "an input has no such member");
  if (datatype === undefined) unableToParse("datatype", `input '${name}' has no such member`);
  if (!shape) unableToParse("shape", `input '${name}' has no such member`);
  const sources = data ? [data, ...fromParameters] : fromParameters;
  const [source] = sources;
  if (!source || sources.length > 1) refuseSources(name, sources);
  return { name, datatype, shape, source };
}

function refuseSources(name: string, sources: readonly InputSource[]): never {
  const words = {
    json: "'data'",
    binary: "'binary_data_size'",
    sharedMemory: "'shared_memory_region'",
  };
  const seen =
    sources.length === 0
      ? "none is set"
      : `${sources.map((s) => words[s.kind]).join(" and ")} are set`;
  throw new InferenceError(
    "INVALID_ARG",
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', " +
      `'shared_memory_region' in 'parameters'. For input '${name}' ${seen}`,
  );
}

function readShape(reader: JsonReader): number[] {
  expectKind(reader, "array", "shape");
  const shape: number[] = [];
  reader.array(() => {
    const dim = readSizeMember(reader, "shape");
    if (!Number.isSafeInteger(dim)) {
      unableToParse("shape", `dimension ${shape.length} is beyond what any tensor can have`);
    }
    shape.push(dim);
  });
  return shape;
}

function readInputParameters(reader: JsonReader): InputSource[] {
  let byteLength: number | undefined;
  let region: string | undefined;
  expectKind(reader, "object", "parameters");
  reader.object((key) => {
    if (key === "binary_data_size" && byteLength === undefined) {
      byteLength = readSizeMember(reader, key);
    } else if (key === "shared_memory_region" && region === undefined) {
      region = readStringMember(reader, key);
    } else if (key === "shared_memory_offset" || key === "shared_memory_byte_size") {
      readUnsignedMember(reader, key);
    } else reader.skip();
  });
  const sources: InputSource[] = [];
  if (byteLength !== undefined) sources.push({ kind: "binary", byteLength });
  if (region !== undefined) sources.push({ kind: "sharedMemory", region });
  return sources;
}

function readOutputs(reader: JsonReader): HeaderOutput[] {
  expectKind(reader, "array", "outputs");
  const outputs: HeaderOutput[] = [];
  reader.array(() => {
    expectKind(reader, "object", "outputs");
    outputs.push(readOutput(reader));
  });
  return outputs;
}

function readOutput(reader: JsonReader): HeaderOutput {
  let name: string | undefined;
  let isBinary = false;
  let classificationCount = 0;
  let sharedMemoryRegion: string | undefined;
  reader.object((key) => {
    if (key === "name" && name === undefined) name = readStringMember(reader, "name");
    else if (key === "parameters") {
      expectKind(reader, "object", "parameters");
      reader.object((parameter) => {
        if (parameter === "binary_data") isBinary = readBooleanMember(reader, parameter);
        else if (parameter === "classification") {
          classificationCount = readSizeMember(reader, parameter);
        } else if (parameter === "shared_memory_region") {
          sharedMemoryRegion = readStringMember(reader, parameter);
        } else if (
          parameter === "shared_memory_offset" ||
          parameter === "shared_memory_byte_size"
        ) {
          readUnsignedMember(reader, parameter);
        } else reader.skip();
      });
    } else reader.skip();
  });
  if (name === undefined) unableToParse("name", "an entry of 'outputs' has no such member");
  if (sharedMemoryRegion !== undefined && (isBinary || classificationCount > 0)) {
    throw new InferenceError(
      "INVALID_ARG",
      `output '${name}' sets 'shared_memory_region' together with '${isBinary ? "binary_data" : "classification"}'; only one of them is possible`,
    );
  }
  return { name, isBinary, classificationCount, sharedMemoryRegion };
}
