import { elementBytesOf } from "../../../base/datatype.ts";
import { InferenceError } from "../../../base/error.ts";
import type { Shape } from "../../../base/shape.ts";
import { formatShape } from "../../../base/shape.ts";
import type { Model } from "../../../core/model/model.ts";
import { RequestSignature } from "../../../core/request/request-signature.ts";
import type { TensorSpec } from "../../../core/tensor/tensor-spec.ts";
import type { DecodedRequest } from "./request-plan.ts";

/**
 * Reads a raw binary request (length header 0): the body is the model's only input, its shape follows from the
 * number of bytes, and every output is returned in binary.
 *
 * @throws InferenceError INVALID_ARG when the model or the size leave the shape open.
 * @see reference: Triton docs, "Binary Tensor Data Extension", raw binary request.
 */
export function rawBinaryPlan(model: Model, body: Uint8Array): DecodedRequest {
  const { inputs, maxBatchSize } = model.config;
  const [spec] = inputs;
  if (!spec || inputs.length !== 1) {
    refuse(model, `has ${inputs.length} inputs; a raw binary request is for models of exactly one`);
  }
  const dims = spec.datatype === "BYTES" ? stringDims(model, spec) : deducedDims(model, spec, body);
  const shape = maxBatchSize > 0 ? [1, ...dims] : dims;
  return {
    id: "",
    inputBytes: [spec.datatype === "BYTES" ? lengthPrefixed(body) : body],
    plan: {
      signature: new RequestSignature({
        inputs: [{ name: spec.name, datatype: spec.datatype, shape }],
      }),
      tailBytes: [body.byteLength],
      binaryOutputs: undefined,
      isBinaryByDefault: true,
      template: undefined,
    },
  };
}

function refuse(model: Model, reason: string): never {
  throw new InferenceError(
    "INVALID_ARG",
    `cannot deduce the shape of a raw binary request: model '${model.name}' ${reason}`,
  );
}

function stringDims(model: Model, spec: TensorSpec): Shape {
  if (spec.dims.length !== 1 || (spec.dims[0] !== 1 && spec.dims[0] !== -1)) {
    refuse(
      model,
      `has the BYTES input '${spec.name}' of dims ${formatShape(spec.dims)}; only one string of dims [1] is possible`,
    );
  }
  return [1];
}

function deducedDims(model: Model, spec: TensorSpec, body: Uint8Array): Shape {
  const freeCount = spec.dims.filter((dim) => dim < 0).length;
  if (freeCount > 1) {
    refuse(
      model,
      `has input '${spec.name}' of dims ${formatShape(spec.dims)}; at most one of them may be free`,
    );
  }
  if (freeCount === 0) return spec.dims;
  const fixedCount = spec.dims.reduce((product, dim) => (dim < 0 ? product : product * dim), 1);
  const rowBytes = fixedCount * elementBytesOf(spec.datatype);
  if (rowBytes === 0 || body.byteLength % rowBytes !== 0) {
    refuse(
      model,
      `has input '${spec.name}' of dims ${formatShape(spec.dims)} and ${spec.datatype}, which ${body.byteLength} bytes do not fill evenly`,
    );
  }
  return spec.dims.map((dim) => (dim < 0 ? body.byteLength / rowBytes : dim));
}

function lengthPrefixed(body: Uint8Array): Uint8Array {
  const prefixed = new Uint8Array(4 + body.byteLength);
  new DataView(prefixed.buffer).setUint32(0, body.byteLength, true);
  prefixed.set(body, 4);
  return prefixed;
}
