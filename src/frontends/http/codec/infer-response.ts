import { InferenceError } from "../../../base/error.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";
import type { Parameters } from "../../../core/request/request-signature.ts";
import type { Tensor } from "../../../core/tensor/tensor.ts";
import { ByteWriter } from "./byte-writer.ts";
import { floatText, writeJsonElements } from "./json-tensor-writer.ts";
import type { RequestPlan } from "./request-plan.ts";
import { templateFits, templateFrom } from "./response-template.ts";

/** An encoded response. */
export interface EncodedResponse {
  /** One buffer, or its parts where joining them here would be a second copy. */
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  readonly byteLength: number;
  /** Bytes of JSON in front of the binary blobs; undefined = there are no blobs. */
  readonly headerLength: number | undefined;
}

/**
 * Up to this size a response is put together in a buffer that all responses share, and `Response` copies it from
 * there. Beyond, the parts go into a Blob, which copies each once. (A `Response` of a typed array copies at once
 * and a Blob costs 0.6 µs more to make: measured on Bun 1.4.4.)
 */
const MAX_SHARED_BUFFER_BYTES = 64 * 1024;
/** A JSON response may outgrow the shared writer; it is then given up so that one big answer does not stay for ever. */
const MAX_KEPT_WRITER_BYTES = 1024 * 1024;

/** Writes infer responses: a JSON head, then the binary outputs in the order of its entries. */
export class InferResponseCodec {
  #writer = new ByteWriter(MAX_SHARED_BUFFER_BYTES);

  /**
   * @returns bytes that are valid until the next call: hand them to `Response` first.
   * @throws InferenceError INVALID_ARG when an output cannot be written as JSON (FP16, BF16).
   */
  encode(response: InferenceResponse, plan: RequestPlan): EncodedResponse {
    if (this.#writer.bytes.byteLength > MAX_KEPT_WRITER_BYTES) {
      this.#writer = new ByteWriter(MAX_SHARED_BUFFER_BYTES);
    }
    const writer = this.#writer;
    writer.clear();
    const { template } = plan;
    if (template && templateFits(template, response)) {
      writeId(writer, response.id);
      writer.raw(template.head);
      return withBlobs(writer, response.outputs, template.blobBytes);
    }
    return this.#encodeFresh(response, plan);
  }

  #encodeFresh(response: InferenceResponse, plan: RequestPlan): EncodedResponse {
    const writer = this.#writer;
    writeId(writer, response.id);
    const headAt = writer.length;
    writer.ascii('"model_name":');
    writer.jsonString(response.modelName);
    writer.ascii(',"model_version":');
    writer.jsonString(response.modelVersion);
    if (response.parameters.size > 0) {
      writer.ascii(',"parameters":{');
      writeParameters(writer, response.parameters);
      writer.ascii("}");
    }
    writer.ascii(',"outputs":[');
    const blobs: Tensor[] = [];
    let blobBytes = 0;
    for (const [index, output] of response.outputs.entries()) {
      if (index > 0) writer.ascii(",");
      if (isBinary(plan, output)) {
        blobs.push(output);
        blobBytes += output.bytes.byteLength;
        writeDescription(writer, output);
        writer.ascii(`,"parameters":{"binary_data_size":${output.bytes.byteLength}}}`);
      } else {
        writeDescription(writer, output);
        writer.ascii(',"data":[');
        writeJsonElements(writer, output);
        writer.ascii("]}");
      }
    }
    writer.ascii("]}");
    // An answer whose blobs are all empty is sent as plain JSON, without the length header.
    if (blobBytes === 0) {
      return { body: writer.written(), byteLength: writer.length, headerLength: undefined };
    }
    if (blobs.length === response.outputs.length && response.parameters.size === 0) {
      plan.template = templateFrom(response, writer.written().slice(headAt));
    }
    return withBlobs(writer, blobs, blobBytes);
  }
}

function isBinary(plan: RequestPlan, output: Tensor): boolean {
  return plan.binaryOutputs ? plan.binaryOutputs.has(output.name) : plan.isBinaryByDefault;
}

/** `{"id":"7",` or `{`. */
function writeId(writer: ByteWriter, id: string): void {
  if (id === "") {
    writer.ascii("{");
    return;
  }
  writer.ascii('{"id":');
  writer.jsonString(id);
  writer.ascii(",");
}

/** Everything of an output's entry but its data, without the closing brace. */
function writeDescription(writer: ByteWriter, output: Tensor): void {
  writer.ascii('{"name":');
  writer.jsonString(output.name);
  writer.ascii(`,"datatype":"${output.datatype}","shape":[${output.shape.join(",")}]`);
}

/** Members of a parameters object, without its braces. */
export function writeParameters(writer: ByteWriter, parameters: Parameters): void {
  let isFirst = true;
  for (const [name, parameter] of parameters) {
    if (!isFirst) writer.ascii(",");
    isFirst = false;
    writer.jsonString(name);
    writer.ascii(":");
    writeParameterValue(writer, parameter);
  }
}

/** The value of one parameter as JSON. */
export function writeParameterValue(
  writer: ByteWriter,
  parameter: Parameters extends ReadonlyMap<string, infer V> ? V : never,
): void {
  switch (parameter.kind) {
    case "string":
      writer.jsonString(parameter.value);
      break;
    case "double":
      writer.ascii(floatText(parameter.value));
      break;
    default:
      writer.ascii(String(parameter.value));
  }
}

/** Head and blobs as one body. */
function withBlobs(
  writer: ByteWriter,
  blobs: readonly Tensor[],
  blobBytes: number,
): EncodedResponse {
  const headerLength = writer.length;
  const byteLength = headerLength + blobBytes;
  if (byteLength > MAX_SHARED_BUFFER_BYTES) {
    const parts = blobs.map((blob) => blob.bytes as Uint8Array<ArrayBuffer>);
    return { body: new Blob([writer.written(), ...parts]), byteLength, headerLength };
  }
  for (const blob of blobs) writer.raw(blob.bytes);
  return { body: writer.written(), byteLength, headerLength };
}

/** Error of a model that answered another number of times than once. */
export function wrongResponseCount(count: number): InferenceError {
  return new InferenceError("INTERNAL", `expected a single response, got ${count}`);
}
