import { expect, test } from "bun:test";
import {
  configDatatypeName,
  DATATYPES,
  type Datatype,
  datatypeFromCode,
  elementBytesOf,
  isDatatype,
} from "../../../src/base/datatype.ts";

const NAMES = Object.keys(DATATYPES) as Datatype[];

test("each code leads back to its datatype, and unknown codes to none", () => {
  for (const name of NAMES) expect(datatypeFromCode(DATATYPES[name].code)).toBe(name);
  expect(datatypeFromCode(0)).toBeUndefined();
  expect(datatypeFromCode(15)).toBeUndefined();
});

test("only the protocol's names are datatypes", () => {
  expect(NAMES.every(isDatatype)).toBe(true);
  for (const name of ["STRING", "fp32", "TYPE_FP32", "", "toString"]) {
    expect(isDatatype(name)).toBe(false);
  }
});

test("the number in a name is its size in bits", () => {
  for (const name of NAMES) {
    const bits = Number(/\d+$/.exec(name)?.[0] ?? 0);
    const expected = name === "BOOL" ? 1 : bits / 8;
    expect([name, elementBytesOf(name)]).toEqual([name, expected]);
  }
});

test("in configurations BYTES is spelled TYPE_STRING", () => {
  expect(configDatatypeName("BYTES")).toBe("TYPE_STRING");
  expect(configDatatypeName("BF16")).toBe("TYPE_BF16");
});
