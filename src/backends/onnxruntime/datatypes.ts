import type { ElementType } from "#ffi/onnxruntime/element-type.ts";
import type { Datatype } from "../../base/datatype.ts";

/** Element types of onnxruntime that the protocol has a datatype for. */
const DATATYPE_BY_ELEMENT_TYPE: Readonly<Partial<Record<ElementType, Datatype>>> = {
  bool: "BOOL",
  uint8: "UINT8",
  uint16: "UINT16",
  uint32: "UINT32",
  uint64: "UINT64",
  int8: "INT8",
  int16: "INT16",
  int32: "INT32",
  int64: "INT64",
  float16: "FP16",
  float32: "FP32",
  float64: "FP64",
  string: "BYTES",
  bfloat16: "BF16",
};

const ELEMENT_TYPE_BY_DATATYPE: Readonly<Record<Datatype, ElementType>> = {
  BOOL: "bool",
  UINT8: "uint8",
  UINT16: "uint16",
  UINT32: "uint32",
  UINT64: "uint64",
  INT8: "int8",
  INT16: "int16",
  INT32: "int32",
  INT64: "int64",
  FP16: "float16",
  FP32: "float32",
  FP64: "float64",
  BYTES: "string",
  BF16: "bfloat16",
};

/** undefined for complex numbers, 8-bit and smaller floats, packed integers. */
export function datatypeFrom(elementType: ElementType): Datatype | undefined {
  return DATATYPE_BY_ELEMENT_TYPE[elementType];
}

/** onnxruntime's word for a datatype. */
export function elementTypeOf(datatype: Datatype): ElementType {
  return ELEMENT_TYPE_BY_DATATYPE[datatype];
}
