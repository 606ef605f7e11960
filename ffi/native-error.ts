/** What a {@link NativeError} is made of. */
export interface NativeErrorFields {
  /** Name of the library, `onnxruntime`. */
  readonly library: string;
  /** The C function that returned the status. */
  readonly functionName: string;
  /** The status as a number, in the library's own numbering. */
  readonly status: number;
  /** The library's own text. */
  readonly text: string;
}

/** A native call that did not succeed. Backends translate it, once, into an InferenceError. */
export class NativeError extends Error {
  override readonly name = "NativeError";
  readonly library: string;
  readonly functionName: string;
  readonly status: number;
  /** The library's own text, without our words around it. */
  readonly text: string;

  constructor(fields: NativeErrorFields) {
    super(`${fields.library} ${fields.functionName} failed (${fields.status}): ${fields.text}`);
    this.library = fields.library;
    this.functionName = fields.functionName;
    this.status = fields.status;
    this.text = fields.text;
  }
}
