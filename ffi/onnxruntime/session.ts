import { CString, type Pointer } from "bun:ffi";
import { pointerFrom, WordArray } from "../memory.ts";
import type { OrtApi, OrtStatus } from "./api.ts";
import {
  type ElementType,
  elementTypeFrom,
  type ValueKind,
  valueKindFrom,
} from "./element-type.ts";
import type { Environment } from "./environment.ts";
import type { SessionOptions } from "./session-options.ts";
import { SessionOwners } from "./session-owners.ts";

/** One dimension of a graph's input or output. */
export interface Dimension {
  /** −1 where any number will do. */
  readonly length: number;
  /** Name of a free dimension, "" where it has none. Equal names promise equal lengths. */
  readonly symbol: string;
}

/** An input, output or overridable initialiser of a graph. */
export interface GraphTensor {
  readonly name: string;
  readonly kind: ValueKind;
  /** `undefined` (the word) for all but tensors. */
  readonly elementType: ElementType;
  /** Empty for a scalar; undefined for what is no tensor, or where even the rank is free. */
  readonly dimensions: readonly Dimension[] | undefined;
}

interface SlotFunctions {
  count(session: Pointer, out: Pointer): OrtStatus;
  name(session: Pointer, index: number, allocator: Pointer, out: Pointer): OrtStatus;
  typeInfo(session: Pointer, index: number, out: Pointer): OrtStatus;
}

/**
 * A loaded graph. Any number of threads may run it at once: one loads it, the others {@link Session.join} it, and the
 * last one that disposes its part frees it.
 */
export class Session implements Disposable {
  readonly api: OrtApi;
  /** What must be given at each run. */
  readonly inputs: readonly GraphTensor[];
  readonly outputs: readonly GraphTensor[];
  /** Initialisers that are inputs as well: a run may give them, or leave the value of the file. */
  readonly overridableInitializers: readonly GraphTensor[];
  #owners: SessionOwners | undefined;

  private constructor(api: OrtApi, owners: SessionOwners) {
    this.api = api;
    this.#owners = owners;
    const { functions } = api;
    try {
      this.inputs = this.#slots({
        count: functions.SessionGetInputCount,
        name: functions.SessionGetInputName,
        typeInfo: functions.SessionGetInputTypeInfo,
      });
      this.outputs = this.#slots({
        count: functions.SessionGetOutputCount,
        name: functions.SessionGetOutputName,
        typeInfo: functions.SessionGetOutputTypeInfo,
      });
      this.overridableInitializers = this.#slots({
        count: functions.SessionGetOverridableInitializerCount,
        name: functions.SessionGetOverridableInitializerName,
        typeInfo: functions.SessionGetOverridableInitializerTypeInfo,
      });
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Loads a model file; external data is looked for beside it.
   * @throws NativeError with onnxruntime's words, which name the file.
   */
  static load(environment: Environment, modelPath: string, options: SessionOptions): Session {
    const { api } = environment;
    const session = api.obtain("CreateSession", (out) =>
      api.functions.CreateSession(environment.pointer, modelPath, options.pointer, out),
    );
    return new Session(api, SessionOwners.first(session));
  }

  /**
   * One more part of a session of this process. This thread must have an {@link Environment}.
   * @param handle of a part that is not disposed.
   * @throws Error when the handle is none, or its last part has gone.
   */
  static join(api: OrtApi, handle: number): Session {
    return new Session(api, SessionOwners.join(handle));
  }

  /** For {@link join}. @throws Error after dispose. */
  get handle(): number {
    return this.#part.handle;
  }

  /** For `ffi/onnxruntime` only. @throws Error after dispose. */
  get pointer(): Pointer {
    return pointerFrom(this.#part.session);
  }

  get #part(): SessionOwners {
    if (this.#owners === undefined) throw new Error("the onnxruntime session is disposed");
    return this.#owners;
  }

  /** Must not be called while a run of this part is on. Idempotent. */
  [Symbol.dispose](): void {
    const owners = this.#owners;
    this.#owners = undefined;
    if (owners?.leave()) this.api.functions.ReleaseSession(pointerFrom(owners.session));
  }

  #slots(functions: SlotFunctions): GraphTensor[] {
    const count = this.api.obtain("SessionGetInputCount", (out) =>
      functions.count(this.pointer, out),
    );
    return Array.from({ length: count }, (_, index) => {
      const typeInfo = pointerFrom(
        this.api.obtain("SessionGetInputTypeInfo", (out) =>
          functions.typeInfo(this.pointer, index, out),
        ),
      );
      try {
        return { name: this.#name(functions, index), ...readTypeInfo(this.api, typeInfo) };
      } finally {
        this.api.functions.ReleaseTypeInfo(typeInfo);
      }
    });
  }

  #name(functions: SlotFunctions, index: number): string {
    const { api } = this;
    const allocator = pointerFrom(
      api.obtain("GetAllocatorWithDefaultOptions", (out) =>
        api.functions.GetAllocatorWithDefaultOptions(out),
      ),
    );
    const text = pointerFrom(
      api.obtain("SessionGetInputName", (out) =>
        functions.name(this.pointer, index, allocator, out),
      ),
    );
    const name = new CString(text).toString();
    api.check("AllocatorFree", api.functions.AllocatorFree(allocator, text));
    return name;
  }
}

function readTypeInfo(api: OrtApi, typeInfo: Pointer): Omit<GraphTensor, "name"> {
  const { functions } = api;
  const kind = valueKindFrom(
    api.obtain("GetOnnxTypeFromTypeInfo", (out) =>
      functions.GetOnnxTypeFromTypeInfo(typeInfo, out),
    ),
  );
  if (kind !== "tensor") return { kind, elementType: "undefined", dimensions: undefined };
  // Belongs to the type info.
  const tensor = pointerFrom(
    api.obtain("CastTypeInfoToTensorInfo", (out) =>
      functions.CastTypeInfoToTensorInfo(typeInfo, out),
    ),
  );
  const elementType = elementTypeFrom(
    api.obtain("GetTensorElementType", (out) => functions.GetTensorElementType(tensor, out)),
  );
  return { kind, elementType, dimensions: readDimensions(api, tensor) };
}

function readDimensions(api: OrtApi, tensor: Pointer): Dimension[] | undefined {
  const { functions } = api;
  // Older libraries do not tell a free rank from a scalar.
  const isRankKnown =
    !api.has("TensorTypeAndShape_HasShape") || functions.TensorTypeAndShape_HasShape(tensor);
  if (!isRankKnown) return undefined;
  const rank = api.obtain("GetDimensionsCount", (out) => functions.GetDimensionsCount(tensor, out));
  const lengths = new WordArray(rank);
  api.check("GetDimensions", functions.GetDimensions(tensor, lengths.address, rank));
  const symbols = new WordArray(rank);
  api.check(
    "GetSymbolicDimensions",
    functions.GetSymbolicDimensions(tensor, symbols.address, rank),
  );
  return Array.from({ length: rank }, (_, i) => ({
    length: lengths.get(i),
    symbol: symbols.get(i) === 0 ? "" : new CString(pointerFrom(symbols.get(i))).toString(),
  }));
}
