/** The datatypes of the KServe v2 protocol, by their names on the wire. */
export type Datatype =
  | "BOOL"
  | "UINT8"
  | "UINT16"
  | "UINT32"
  | "UINT64"
  | "INT8"
  | "INT16"
  | "INT32"
  | "INT64"
  | "FP16"
  | "FP32"
  | "FP64"
  | "BYTES"
  | "BF16";

interface DatatypeFacts {
  /** Number of the matching `TYPE_…` value of model_config.proto; also the number in batch frames. */
  readonly code: number;
  /** Bytes of one element; 0 for BYTES, whose elements carry their own length. */
  readonly elementBytes: number;
}

/** One row a datatype. A new datatype is added here (and in each backend that can run it). */
export const DATATYPES: Readonly<Record<Datatype, DatatypeFacts>> = {
  BOOL: { code: 1, elementBytes: 1 },
  UINT8: { code: 2, elementBytes: 1 },
  UINT16: { code: 3, elementBytes: 2 },
  UINT32: { code: 4, elementBytes: 4 },
  UINT64: { code: 5, elementBytes: 8 },
  INT8: { code: 6, elementBytes: 1 },
  INT16: { code: 7, elementBytes: 2 },
  INT32: { code: 8, elementBytes: 4 },
  INT64: { code: 9, elementBytes: 8 },
  FP16: { code: 10, elementBytes: 2 },
  FP32: { code: 11, elementBytes: 4 },
  FP64: { code: 12, elementBytes: 8 },
  BYTES: { code: 13, elementBytes: 0 },
  BF16: { code: 14, elementBytes: 2 },
};

const BY_CODE: readonly (Datatype | undefined)[] = (() => {
  const byCode: (Datatype | undefined)[] = [];
  for (const name of Object.keys(DATATYPES) as Datatype[]) byCode[DATATYPES[name].code] = name;
  return byCode;
})();

/** Whether a text from the wire names a datatype. */
export function isDatatype(name: string): name is Datatype {
  return Object.hasOwn(DATATYPES, name);
}

/** Bytes of one element; 0 for BYTES. */
export function elementBytesOf(datatype: Datatype): number {
  return DATATYPES[datatype].elementBytes;
}

/** The datatype of a `TYPE_…` number, undefined for TYPE_INVALID and unknown numbers. */
export function datatypeFromCode(code: number): Datatype | undefined {
  return BY_CODE[code];
}

/** The spelling of model_config.proto, where BYTES is `TYPE_STRING`. */
export function configDatatypeName(datatype: Datatype): string {
  return datatype === "BYTES" ? "TYPE_STRING" : `TYPE_${datatype}`;
}
