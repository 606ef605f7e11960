/** `enum ONNXTensorElementDataType` of onnxruntime_c_api.h (API 29), by number. */
const ELEMENT_TYPE_NAMES = [
  "undefined",
  "float32",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "int32",
  "int64",
  "string",
  "bool",
  "float16",
  "float64",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
  "bfloat16",
  "float8e4m3fn",
  "float8e4m3fnuz",
  "float8e5m2",
  "float8e5m2fnuz",
  "uint4",
  "int4",
  "float4e2m1",
  "uint2",
  "int2",
  "float8e8m0",
] as const;

/** Type of a tensor's elements; `undefined` is onnxruntime's own word for a type that it does not know. */
export type ElementType = (typeof ELEMENT_TYPE_NAMES)[number];

/** `enum ONNXType` of onnxruntime_c_api.h (API 29), by number. */
const VALUE_KIND_NAMES = [
  "unknown",
  "tensor",
  "sequence",
  "map",
  "opaque",
  "sparsetensor",
  "optional",
] as const;

/** What an input, output or value is. */
export type ValueKind = (typeof VALUE_KIND_NAMES)[number];

/** Numbers that a newer library may send are `undefined`, onnxruntime's word for it. */
export function elementTypeFrom(code: number): ElementType {
  return ELEMENT_TYPE_NAMES[code] ?? "undefined";
}

/** The number that the C functions take. */
export function elementTypeCode(type: ElementType): number {
  return ELEMENT_TYPE_NAMES.indexOf(type);
}

/** Numbers that a newer library may send are `unknown`, onnxruntime's word for it. */
export function valueKindFrom(code: number): ValueKind {
  return VALUE_KIND_NAMES[code] ?? "unknown";
}
