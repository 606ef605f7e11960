import { elementCount } from "../../../base/shape.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";
import type { Tensor } from "../../../core/tensor/tensor.ts";
import { ByteWriter } from "./byte-writer.ts";
import { writeParameterValue } from "./infer-response.ts";
import { writeJsonElements } from "./json-tensor-writer.ts";

/**
 * A response of the generate extension as one JSON object: id, model, response parameters and outputs as members
 * side by side, sorted by the bytes of their names. A tensor of one element is a scalar, any other a flat list.
 *
 * @throws InferenceError INVALID_ARG when an output cannot be written as JSON.
 */
export function encodeGenerateResponse(response: InferenceResponse): string {
  const members = new Map<string, (writer: ByteWriter) => void>();
  if (response.id !== "") members.set("id", (writer) => writer.jsonString(response.id));
  members.set("model_name", (writer) => writer.jsonString(response.modelName));
  members.set("model_version", (writer) => writer.jsonString(response.modelVersion));
  for (const [name, value] of response.parameters) {
    members.set(name, (writer) => writeParameterValue(writer, value));
  }
  for (const output of response.outputs)
    members.set(output.name, (writer) => write(writer, output));
  const writer = new ByteWriter();
  writer.ascii("{");
  const names = [...members.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  for (const [index, name] of names.entries()) {
    if (index > 0) writer.ascii(",");
    writer.jsonString(name);
    writer.ascii(":");
    members.get(name)?.(writer);
  }
  writer.ascii("}");
  return writer.text();
}

function write(writer: ByteWriter, output: Tensor): void {
  const isScalar = elementCount(output.shape) === 1;
  if (!isScalar) writer.ascii("[");
  writeJsonElements(writer, output);
  if (!isScalar) writer.ascii("]");
}
