import { create, toBinary } from "@bufbuild/protobuf";
import { ModelInferResponseSchema } from "#gen/inference/grpc_service_pb.ts";
import { shapesEqual } from "../../../base/shape.ts";
import type { InferenceResponse } from "../../../core/request/inference-response.ts";
import type { Tensor } from "../../../core/tensor/tensor.ts";

/** What a response says about one output besides its data. */
export type OutputDescription = Pick<Tensor, "name" | "datatype" | "shape">;

/** An output as ModelInferResponse describes it. */
export function outputMessage({ name, datatype, shape }: OutputDescription) {
  return { name, datatype, shape: shape.map(BigInt) };
}

/**
 * The parts of a serialised ModelInferResponse that are the same for all answers of one form: model and version, and
 * the description of the outputs.
 */
export class InferResponseTemplate {
  /** Fields `model_name` and `model_version`. */
  readonly modelFields: Uint8Array;
  /** Field `outputs`, all entries. */
  readonly outputFields: Uint8Array;
  readonly #modelName: string;
  readonly #modelVersion: string;
  readonly #outputs: readonly OutputDescription[];

  constructor({ modelName, modelVersion, outputs }: InferenceResponse) {
    this.#modelName = modelName;
    this.#modelVersion = modelVersion;
    this.#outputs = outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape }));
    this.modelFields = toBinary(
      ModelInferResponseSchema,
      create(ModelInferResponseSchema, { modelName, modelVersion }),
    );
    this.outputFields = toBinary(
      ModelInferResponseSchema,
      create(ModelInferResponseSchema, { outputs: outputs.map(outputMessage) }),
    );
  }

  /** Whether a response differs from the template's in id, parameters and data only. */
  fits(response: InferenceResponse): boolean {
    const { outputs } = response;
    if (response.modelName !== this.#modelName) return false;
    if (response.modelVersion !== this.#modelVersion) return false;
    if (outputs.length !== this.#outputs.length) return false;
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i];
      const own = this.#outputs[i];
      if (!output || !own) return false;
      if (output.name !== own.name || output.datatype !== own.datatype) return false;
      if (output.shape !== own.shape && !shapesEqual(output.shape, own.shape)) return false;
    }
    return true;
  }
}
