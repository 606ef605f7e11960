/**
 * Writes api-table.ts from onnxruntime's public header:
 *
 *     bun ffi/onnxruntime/generate-api-table.ts path/to/onnxruntime_c_api.h > ffi/onnxruntime/api-table.ts
 *     biome check --write ffi/onnxruntime/api-table.ts
 *
 * Run by hand when the list below grows; the output is committed, the header is not. The order of the functions in
 * `struct OrtApi` is onnxruntime's binary interface: slots are only ever appended.
 */
import { readFileSync } from "node:fs";

/** The functions that we call, in no particular order. */
const WANTED: readonly string[] = [
  "GetErrorCode",
  "GetErrorMessage",
  "ReleaseStatus",
  "CreateEnv",
  "CreateEnvWithGlobalThreadPools",
  "CreateThreadingOptions",
  "SetGlobalIntraOpNumThreads",
  "SetGlobalInterOpNumThreads",
  "SetGlobalSpinControl",
  "ReleaseThreadingOptions",
  "CreateSessionOptions",
  "SetSessionGraphOptimizationLevel",
  "SetSessionExecutionMode",
  "SetIntraOpNumThreads",
  "SetInterOpNumThreads",
  "EnableCpuMemArena",
  "DisableCpuMemArena",
  "EnableMemPattern",
  "DisableMemPattern",
  "AddSessionConfigEntry",
  "DisablePerSessionThreads",
  "RegisterCustomOpsLibrary_V2",
  "SessionOptionsAppendExecutionProvider",
  "SessionOptionsAppendExecutionProvider_CUDA_V2",
  "CreateCUDAProviderOptions",
  "UpdateCUDAProviderOptions",
  "ReleaseCUDAProviderOptions",
  "SessionOptionsAppendExecutionProvider_TensorRT_V2",
  "CreateTensorRTProviderOptions",
  "UpdateTensorRTProviderOptions",
  "ReleaseTensorRTProviderOptions",
  "ReleaseSessionOptions",
  "GetAvailableProviders",
  "ReleaseAvailableProviders",
  "CreateSession",
  "SessionGetInputCount",
  "SessionGetInputName",
  "SessionGetInputTypeInfo",
  "SessionGetOutputCount",
  "SessionGetOutputName",
  "SessionGetOutputTypeInfo",
  "SessionGetOverridableInitializerCount",
  "SessionGetOverridableInitializerName",
  "SessionGetOverridableInitializerTypeInfo",
  "Run",
  "ReleaseSession",
  "GetOnnxTypeFromTypeInfo",
  "CastTypeInfoToTensorInfo",
  "ReleaseTypeInfo",
  "GetTensorElementType",
  "GetDimensionsCount",
  "GetDimensions",
  "GetSymbolicDimensions",
  "TensorTypeAndShape_HasShape",
  "GetTensorTypeAndShape",
  "ReleaseTensorTypeAndShapeInfo",
  "CreateCpuMemoryInfo",
  "ReleaseMemoryInfo",
  "GetAllocatorWithDefaultOptions",
  "AllocatorFree",
  "CreateTensorWithDataAsOrtValue",
  "CreateTensorAsOrtValue",
  "IsTensor",
  "HasValue",
  "GetTensorMutableData",
  "GetStringTensorDataLength",
  "GetStringTensorContent",
  "GetResizedStringTensorElementBuffer",
  "ReleaseValue",
  "CreateRunOptions",
  "AddRunConfigEntry",
  "RunOptionsSetTerminate",
  "RunOptionsUnsetTerminate",
  "ReleaseRunOptions",
];

/** One member of `struct OrtApi`. */
export interface OrtApiFunction {
  readonly name: string;
  /** Slot in the table of pointers. */
  readonly index: number;
  /** Minor version of the release that brought it; 0 where the header does not say (the early functions). */
  readonly since: number;
  readonly returns: string;
  /** C declarations, for example `const OrtEnv* env`. */
  readonly parameters: readonly string[];
}

/** What the header says about the table. */
export interface OrtApiDeclaration {
  /** `ORT_API_VERSION`. */
  readonly apiVersion: number;
  /** Every slot, in order. */
  readonly functions: readonly OrtApiFunction[];
}

/** Annotations for Microsoft's analyser, and qualifiers without meaning for a call. */
const NOISE =
  /\b(?:_[A-Z][A-Za-z_]*_(?:\([^()]*\))?|NO_EXCEPTION|ORT_ALL_ARGS_NONNULL|ORT_API_CALL|ORT_MUST_USE_RESULT|enum)(?=\W)/g;

/** Enumerations cross the border as C ints. */
const ENUMERATIONS = new Set([
  "OrtErrorCode",
  "OrtLoggingLevel",
  "OrtAllocatorType",
  "OrtMemType",
  "GraphOptimizationLevel",
  "ExecutionMode",
  "ONNXType",
  "ONNXTensorElementDataType",
]);

const SCALARS: Readonly<Record<string, string>> = {
  void: "void",
  bool: "bool",
  int: "i32",
  uint32_t: "u32",
  int64_t: "i64",
  uint64_t: "u64",
  size_t: "u64",
};

/**
 * Reads `struct OrtApi`.
 * @throws Error naming a statement that has none of the known forms: a slot skipped would shift all that follow.
 */
export function parseOrtApi(header: string): OrtApiDeclaration {
  const version = /#define ORT_API_VERSION (\d+)/.exec(header)?.[1];
  const start = header.indexOf("struct OrtApi {");
  if (version === undefined || start < 0) throw new Error("the header has no struct OrtApi");
  const body = header.slice(start + "struct OrtApi {".length, header.indexOf("\n};", start));
  const functions: OrtApiFunction[] = [];
  let comments = "";
  // A comment belongs to the next statement; preprocessor lines (`#ifdef __cplusplus`) declare nothing.
  const pieces = body.replace(/^#.*$/gm, "").matchAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|[^;/]+;?/g);
  let code = "";
  for (const [piece] of pieces) {
    if (piece.startsWith("/*") || piece.startsWith("//")) {
      if (code.trim() === "") comments += piece;
      continue;
    }
    code += piece;
    if (!piece.endsWith(";")) continue;
    const since = /\\since Version 1\.(\d+)/.exec(comments)?.[1] ?? "0";
    functions.push({ ...parseStatement(code), index: functions.length, since: Number(since) });
    code = "";
    comments = "";
  }
  return { apiVersion: Number(version), functions };
}

/** The four forms in which the header declares a slot. */
function parseStatement(text: string): Pick<OrtApiFunction, "name" | "returns" | "parameters"> {
  const statement = text.replace(NOISE, " ").replace(/\s+/g, " ").trim();
  const status = /^ORT_API2_STATUS\((\w+)(?:, (.*))?\);$/.exec(statement.replace(/ ,/g, ","));
  if (status !== null) return made(status[1], "OrtStatus*", status[2]);
  const released = /^ORT_CLASS_RELEASE\((\w+)\);$/.exec(statement);
  if (released !== null) return made(`Release${released[1]}`, "void", `Ort${released[1]}* input`);
  const typed = /^ORT_API_T\(([^,]+), (\w+)(?:, (.*))?\);$/.exec(statement);
  if (typed !== null) return made(typed[2], typed[1], typed[3]);
  const pointer = /^(.+?) ?\( ?\* ?(\w+)\)\((.*)\) ?;$/.exec(statement);
  if (pointer !== null) return made(pointer[2], pointer[1], pointer[3]);
  throw new Error(`unknown form of declaration: ${statement}`);
}

function made(name = "", returns = "", list = "") {
  const parameters = list.trim() === "void" || list.trim() === "" ? [] : list.split(",");
  return {
    name,
    returns: returns.trim(),
    parameters: parameters.map((one) => one.replace(/\s+/g, " ").trim()),
  };
}

/** The FFI type of a parameter (`size_t index`) or of a return type (`void`). */
function ffiType(declaration: string, isReturn: boolean): string {
  const type = isReturn ? declaration : declaration.replace(/ ?\w+$/, "");
  if (/^const (char|ORTCHAR_T) ?\*$/.test(type)) return "cstring";
  if (type.includes("*")) return "ptr";
  if (ENUMERATIONS.has(type)) return "i32";
  const scalar = SCALARS[type];
  if (scalar === undefined) throw new Error(`no FFI type for "${declaration}"`);
  return scalar;
}

/**
 * The text of api-table.ts, unformatted.
 * @throws Error naming a wanted function that the header lacks.
 */
export function renderApiTable(declaration: OrtApiDeclaration, wanted: readonly string[]): string {
  const known = new Set(declaration.functions.map(({ name }) => name));
  const missing = wanted.filter((name) => !known.has(name));
  if (missing.length > 0) throw new Error(`the header lacks ${missing.join(", ")}`);
  const rows = declaration.functions
    .filter(({ name }) => wanted.includes(name))
    .map((row) => {
      const args = row.parameters.map((one) => `"${ffiType(one, false)}", // ${one}\n`).join("");
      const list = args === "" ? "[]" : `[\n${args}]`;
      const head = `index: ${row.index}, since: ${row.since}`;
      return `  ${row.name}: { ${head}, args: ${list}, returns: "${ffiType(row.returns, true)}" },\n`;
    });
  const { apiVersion } = declaration;
  return `// Made by generate-api-table.ts from onnxruntime_c_api.h, ORT_API_VERSION ${apiVersion}. Do not edit.

/** \`ORT_API_VERSION\` of the header that the table was made from. */
export const ORT_API_VERSION = ${apiVersion};

/**
 * The functions of \`struct OrtApi\` that we call, in header order: slot in the table, minor version that brought it (0
 * where the header does not say), and the FFI type of each argument beside its C declaration.
 */
export const ORT_API_FUNCTIONS = {
${rows.join("")}} as const;
`;
}

if (import.meta.main) {
  const path = process.argv[2];
  if (path === undefined) {
    process.stderr.write("usage: bun generate-api-table.ts path/to/onnxruntime_c_api.h\n");
    process.exit(1);
  }
  process.stdout.write(renderApiTable(parseOrtApi(readFileSync(path, "utf8")), WANTED));
}
