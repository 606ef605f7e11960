import { InferenceError } from "../../../base/error.ts";
import type { Shape } from "../../../base/shape.ts";
import type { Model } from "../../../core/model/model.ts";
import type { InputDescription, ParameterValue } from "../../../core/request/request-signature.ts";
import { RequestSignature } from "../../../core/request/request-signature.ts";
import type { TensorSpec } from "../../../core/tensor/tensor-spec.ts";
import { expectKind, readStringMember, unableToParse } from "./json-members.ts";
import type { JsonReader } from "./json-reader.ts";
import { tensorBytesFromJson } from "./json-tensor-reader.ts";
import { checkParameterName, readParameterValue } from "./request-parameters.ts";

/** A generate request, understood. */
export interface GenerateRequest {
  /** "" when the request has none. */
  readonly id: string;
  readonly signature: RequestSignature;
  /** Bytes of `signature.inputs[i]`. */
  readonly inputBytes: readonly Uint8Array[];
}

/**
 * Reads the body of a generate request: members that are named like inputs of the model become tensors, all others
 * (and those of the object `parameters`) become request parameters. `id` is the request's id and a parameter too.
 *
 * @throws InferenceError INVALID_ARG naming the member.
 * @see reference: Triton docs, "Generate Extension".
 */
export function readGenerateRequest(reader: JsonReader, model: Model): GenerateRequest {
  const collector = new Collector(reader, model);
  expectKind(reader, "object", "request");
  let id = "";
  reader.object((key) => {
    if (key === "parameters") {
      if (collector.specOf(key)) {
        throw new InferenceError(
          "INVALID_ARG",
          `model '${model.name}' has an input called 'parameters', which the generate extension keeps for itself`,
        );
      }
      expectKind(reader, "object", key);
      reader.object((name) => collector.take(name));
    } else if (key === "id" && !collector.specOf(key)) {
      id = readStringMember(reader, key);
      collector.parameters.set(key, { kind: "string", value: id });
    } else {
      collector.take(key);
    }
  });
  reader.finish();
  return {
    id,
    inputBytes: collector.inputBytes,
    signature: new RequestSignature({
      inputs: collector.inputs,
      parameters: collector.parameters,
    }),
  };
}

class Collector {
  readonly inputs: InputDescription[] = [];
  readonly inputBytes: Uint8Array[] = [];
  readonly parameters = new Map<string, ParameterValue>();
  readonly #reader: JsonReader;
  readonly #model: Model;

  constructor(reader: JsonReader, model: Model) {
    this.#reader = reader;
    this.#model = model;
  }

  specOf(name: string): TensorSpec | undefined {
    return this.#model.config.inputs.find((spec) => spec.name === name);
  }

  /** Takes the value at hand as an input or a parameter, by its name. */
  take(name: string): void {
    const spec = this.specOf(name);
    if (spec) {
      this.#takeInput(spec);
      return;
    }
    checkParameterName(name);
    this.parameters.set(name, readParameterValue(this.#reader, name));
  }

  #takeInput(spec: TensorSpec): void {
    const { name, datatype } = spec;
    if (this.inputs.some((input) => input.name === name)) {
      throw new InferenceError("INVALID_ARG", `input '${name}' is given twice`);
    }
    const reader = this.#reader;
    const isList = reader.peek() === "array";
    const start = reader.at;
    const elementCount = isList ? this.#countElements(name) : this.#scalar(name);
    const shape = this.#shapeOf(spec, elementCount);
    this.inputs.push({ name, datatype, shape });
    this.inputBytes.push(
      tensorBytesFromJson({
        body: reader.bytes,
        start,
        end: reader.at,
        inputName: name,
        datatype,
        shape,
        elementCount,
      }),
    );
  }

  #scalar(name: string): 1 {
    const kind = this.#reader.peek();
    if (kind === "object" || kind === "null") {
      unableToParse(name, "expected a scalar or a list of scalars");
    }
    this.#reader.skip();
    return 1;
  }

  #countElements(name: string): number {
    let count = 0;
    this.#reader.array(() => {
      if (this.#reader.peek() === "array") {
        unableToParse(name, "expected a scalar or a list of scalars, got nested lists");
      }
      this.#scalar(name);
      count++;
    });
    return count;
  }

  /**
   * The model's shape with the element count spread over it: fixed dims stay, the innermost free one takes what is
   * left, the other free ones are 1.
   */
  #shapeOf(spec: TensorSpec, elementCount: number): Shape {
    const wanted = this.#model.config.maxBatchSize > 0 ? [-1, ...spec.dims] : [...spec.dims];
    const fixedCount = wanted.reduce((product, dim) => (dim < 0 ? product : product * dim), 1);
    const rest = fixedCount === 0 ? 0 : elementCount / fixedCount;
    const innermostFree = wanted.lastIndexOf(-1);
    const isEven = Number.isInteger(rest) && (innermostFree >= 0 || rest === 1);
    if (!isEven) {
      throw new InferenceError(
        "INVALID_ARG",
        `The schema can not convert input '${spec.name}' to tensor with proper shape`,
      );
    }
    return wanted.map((dim, i) => (dim >= 0 ? dim : i === innermostFree ? rest : 1));
  }
}
