import { elementBytesOf } from "../../src/base/datatype.ts";
import { InferenceError } from "../../src/base/error.ts";
import { elementCount, formatShape, shapeMatches } from "../../src/base/shape.ts";
import type { Model } from "../../src/core/model/model.ts";
import type { InferenceRequest } from "../../src/core/request/inference-request.ts";
import type { TensorSpec } from "../../src/core/tensor/tensor-spec.ts";

function refuse(message: string): never {
  throw new InferenceError("INVALID_ARG", message);
}

/** A specification's shape as clients send it, batch dimension included where the model has one. */
export function wireShape(model: Model, spec: TensorSpec): readonly number[] {
  return model.config.maxBatchSize > 0 ? [-1, ...spec.dims] : spec.dims;
}

/**
 * The checks of the real core, in few lines, with Triton's texts (`reference/grpc.md` §4): enough for a frontend's
 * tests to see that errors from behind the data plane reach the client.
 *
 * @throws InferenceError INVALID_ARG.
 */
export function validateInMemory(model: Model, request: InferenceRequest): void {
  const { config } = model;
  const id = request.id === "" ? "<id_unknown>" : request.id;
  const { inputs, outputs } = request.signature;
  for (const output of outputs) {
    if (!config.outputs.some((spec) => spec.name === output.name)) {
      refuse(
        `[request id: ${id}] unexpected inference output '${output.name}' for model '${model.name}'`,
      );
    }
  }
  const required = config.inputs.filter((spec) => !spec.isOptional);
  if (inputs.length < required.length || inputs.length > config.inputs.length) {
    const got = inputs.map((input) => `'${input.name}'`).join(",");
    const missing = required
      .filter((spec) => !inputs.some((input) => input.name === spec.name))
      .map((spec) => `'${spec.name}'`)
      .join(",");
    refuse(
      `[request id: ${id}] expected ${config.inputs.length} inputs but got ${inputs.length} inputs for model ` +
        `'${model.name}'. Got input(s) [${got}], but missing required input(s) [${missing}]. Please provide all required input(s).`,
    );
  }
  for (const [index, input] of inputs.entries()) {
    const spec = config.inputs.find((candidate) => candidate.name === input.name);
    if (!spec) refuse(`unexpected inference input '${input.name}' for model '${model.name}'`);
    if (spec.datatype !== input.datatype) {
      refuse(
        `inference input '${input.name}' data-type is '${input.datatype}', but model '${model.name}' expects '${spec.datatype}'`,
      );
    }
    const wanted = wireShape(model, spec);
    if (!shapeMatches(wanted, input.shape)) {
      refuse(
        `unexpected shape for input '${input.name}' for model '${model.name}'. Expected ${formatShape(wanted)}, got ${formatShape(input.shape)}.`,
      );
    }
    const seenBytes = request.inputBytes[index]?.byteLength ?? 0;
    const wantedBytes = elementCount(input.shape) * elementBytesOf(input.datatype);
    if (input.datatype !== "BYTES" && wantedBytes !== seenBytes) {
      refuse(
        `input byte size mismatch for input '${input.name}' for model '${model.name}'. Expected ${wantedBytes}, got ${seenBytes}`,
      );
    }
  }
}
