import type { GraphTensor, Session } from "#ffi/onnxruntime/session.ts";
import type {
  BackendModel,
  ExecutionSignature,
  ModelReport,
  ReportedTensor,
} from "../../core/backend/backend-model.ts";
import { configFromBytes } from "../../core/config/config-bytes.ts";
import { checkFit } from "./check-fit.ts";
import { datatypeFrom } from "./datatypes.ts";
import { OnnxInstance } from "./instance.ts";
import { inferenceErrorFromNative } from "./native-failure.ts";

/** One opened version: this host's part of its session. */
export class OnnxModel implements BackendModel {
  readonly report: ModelReport;
  readonly #name: string;
  readonly #session: Session;
  readonly #runEntries: ReadonlyMap<string, string>;

  /** @param session owned from here on. */
  constructor(name: string, session: Session, runEntries: ReadonlyMap<string, string>) {
    this.#name = name;
    this.#session = session;
    this.#runEntries = runEntries;
    const required = session.inputs.map((input) => reported(input, false));
    const optional = session.overridableInitializers.map((input) => reported(input, true));
    this.report = {
      inputs: [...required, ...optional],
      outputs: session.outputs.map((output) => reported(output, false)),
      sharedHandle: session.handle,
    };
  }

  async createInstance(
    _name: string,
    signature: ExecutionSignature,
    config: Uint8Array,
  ): Promise<OnnxInstance> {
    checkFit(this.#session, configFromBytes(config), signature);
    try {
      return new OnnxInstance({
        modelName: this.#name,
        session: this.#session,
        signature,
        runEntries: this.#runEntries,
      });
    } catch (error) {
      throw inferenceErrorFromNative(error);
    }
  }

  [Symbol.dispose](): void {
    this.#session[Symbol.dispose]();
  }
}

function reported(tensor: GraphTensor, isOptional: boolean): ReportedTensor {
  const { name, kind, elementType, dimensions } = tensor;
  return {
    name,
    datatype: kind === "tensor" ? datatypeFrom(elementType) : undefined,
    nativeType: kind === "tensor" ? elementType : kind,
    shape: dimensions?.map(({ length }) => length),
    isOptional,
  };
}
