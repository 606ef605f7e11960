import { CString, dlopen, type Library, linkSymbols, type Pointer, read } from "bun:ffi";
import { pointerFrom, WordArray } from "../memory.ts";
import { NativeError } from "../native-error.ts";
import { ORT_API_FUNCTIONS, ORT_API_VERSION } from "./api-table.ts";

/** The one exported symbol that we need, `onnxruntime_c_api.h`. */
const EXPORTS = {
  OrtGetApiBase: { args: [], returns: "ptr" /* const OrtApiBase* */ },
} as const;

/** `struct OrtApiBase`: `const OrtApi* (*GetApi)(uint32_t version); const char* (*GetVersionString)(void);` */
const API_BASE_FUNCTIONS = {
  GetApi: { args: ["u32" /* uint32_t version */], returns: "ptr" /* const OrtApi* */ },
  GetVersionString: { args: [], returns: "ptr" /* const char* */ },
} as const;

/** Oldest release whose table has been tried. */
export const MIN_API_VERSION = 17;

/** Code that our own errors carry where onnxruntime has none (`ORT_NOT_IMPLEMENTED`). */
const NOT_IMPLEMENTED = 9;

type FunctionName = keyof typeof ORT_API_FUNCTIONS;
type OrtFunctions = Library<typeof ORT_API_FUNCTIONS>["symbols"];
/** What most functions return, `OrtStatus*`: null is success, all else goes to {@link OrtApi.check}. */
export type OrtStatus = Pointer | bigint | null;

/**
 * An opened onnxruntime library: its table of functions, called with the types of api-table.ts. One per thread; the
 * library itself is loaded once per process and stays loaded, because the system cannot unload it safely.
 */
export class OrtApi {
  readonly libraryPath: string;
  /** `1.32.0`. */
  readonly version: string;
  /** Of the table that library and header have in common. */
  readonly apiVersion: number;
  /** Functions newer than the library; calling one throws. */
  readonly absentFunctions: readonly string[];
  readonly functions: OrtFunctions;
  readonly #table: Pointer;
  /** Room for out-parameters, {@link obtain}. */
  readonly #out = new WordArray(1);

  private constructor(libraryPath: string, version: string, apiVersion: number, table: Pointer) {
    this.libraryPath = libraryPath;
    this.version = version;
    this.apiVersion = apiVersion;
    this.#table = table;
    const absent: string[] = [];
    const linked: Record<string, unknown> = {};
    const wanted: Record<string, (typeof ORT_API_FUNCTIONS)[FunctionName] & { ptr: Pointer }> = {};
    for (const [name, row] of Object.entries(ORT_API_FUNCTIONS)) {
      if (row.since > apiVersion) {
        absent.push(name);
        linked[name] = () => this.#refuse(name, row.since);
      } else {
        wanted[name] = { ...row, ptr: pointerFrom(read.ptr(table, row.index * 8)) };
      }
    }
    // The table's rows and the linked functions have the same names and types; linkSymbols loses them in a Record.
    this.functions = Object.assign(linked, linkSymbols(wanted).symbols) as unknown as OrtFunctions;
    this.absentFunctions = absent;
  }

  /**
   * Loads a library and negotiates the version of its table: the older one of header and library.
   *
   * @param libraryPath absolute: a bare name would also be looked for in the current directory.
   * @throws Error in the system's words when the file cannot be loaded; NativeError when the release is too old.
   */
  static open(libraryPath: string): OrtApi {
    const base = pointerFrom(dlopen(libraryPath, EXPORTS).symbols.OrtGetApiBase());
    const { GetApi, GetVersionString } = linkSymbols({
      GetApi: { ...API_BASE_FUNCTIONS.GetApi, ptr: pointerFrom(read.ptr(base, 0)) },
      GetVersionString: {
        ...API_BASE_FUNCTIONS.GetVersionString,
        ptr: pointerFrom(read.ptr(base, 8)),
      },
    }).symbols;
    const version = new CString(pointerFrom(GetVersionString())).toString();
    const minor = Number(/^1\.(\d+)\./.exec(version)?.[1] ?? 0);
    if (minor < MIN_API_VERSION) {
      const text = `${libraryPath} is onnxruntime ${version}; 1.${MIN_API_VERSION} or later is needed`;
      throw new NativeError({
        library: "onnxruntime",
        functionName: "GetVersionString",
        status: NOT_IMPLEMENTED,
        text,
      });
    }
    const apiVersion = Math.min(minor, ORT_API_VERSION);
    return new OrtApi(libraryPath, version, apiVersion, pointerFrom(GetApi(apiVersion)));
  }

  /** Where a function lies, for calls from other threads; 0 where the library lacks it. */
  addressOfFunction(name: FunctionName): number {
    return this.has(name) ? read.ptr(this.#table, ORT_API_FUNCTIONS[name].index * 8) : 0;
  }

  /** Whether the library has a function. */
  has(name: FunctionName): boolean {
    return !this.absentFunctions.includes(name);
  }

  /**
   * Every status goes through here.
   * @param functionName the function that returned it, for the message.
   * @throws NativeError with onnxruntime's code and text; the status is freed.
   */
  check(functionName: FunctionName, status: OrtStatus): void {
    if (status !== null) throw this.#failure(functionName, pointerFrom(status));
  }

  /**
   * Calls a function whose last parameter is an out-parameter of 64 bits or less, and gives what it wrote.
   *
   * @param call hands its argument to the function as the out-parameter.
   * @returns an address, count or enumeration number; 0 for null.
   * @throws NativeError like {@link check}.
   */
  obtain(functionName: FunctionName, call: (out: Pointer) => OrtStatus): number {
    this.#out.set(0, 0);
    this.check(functionName, call(this.#out.address));
    return this.#out.get(0);
  }

  #failure(functionName: FunctionName, status: Pointer): NativeError {
    const code = this.functions.GetErrorCode(status);
    const text = this.functions.GetErrorMessage(status) ?? "";
    this.functions.ReleaseStatus(status);
    return new NativeError({ library: "onnxruntime", functionName, status: code, text });
  }

  #refuse(functionName: string, since: number): never {
    throw new NativeError({
      library: "onnxruntime",
      functionName,
      status: NOT_IMPLEMENTED,
      text: `needs onnxruntime 1.${since} or later; ${this.libraryPath} is ${this.version}`,
    });
  }
}
