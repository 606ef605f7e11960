import { expect, test } from "bun:test";
import {
  parametersFromText,
  parametersTextOf,
} from "../../../../../src/core/instance/python/python-parameters.ts";
import {
  NO_PARAMETERS,
  type ParameterValue,
  RequestSignature,
} from "../../../../../src/core/request/request-signature.ts";

const parameters = new Map<string, ParameterValue>([
  ["text", { kind: "string", value: 'a "quoted" ü' }],
  ["flag", { kind: "bool", value: false }],
  ["large", { kind: "int64", value: 9_223_372_036_854_775_807n }],
  ["half", { kind: "double", value: 0.5 }],
]);

test("parameters come back from their text as they were, large integers with all digits", () => {
  const text = parametersTextOf(new RequestSignature({ inputs: [], parameters }));
  expect(text).toContain('"large":9223372036854775807');
  expect(parametersFromText(text)).toEqual(parameters);
});

test("the text is made once for a signature", () => {
  const signature = new RequestSignature({ inputs: [], parameters: new Map(parameters) });
  const text = parametersTextOf(signature);
  (signature.parameters as Map<string, ParameterValue>).delete("text");
  expect(parametersTextOf(signature)).toBe(text);
});

test("without parameters the text is an empty object, read as none", () => {
  expect(parametersTextOf(new RequestSignature({ inputs: [] }))).toBe("{}");
  for (const text of ["{}", "", undefined, null]) {
    expect(parametersFromText(text)).toBe(NO_PARAMETERS);
  }
});

test("a whole number that is written as a fraction is a double, as Python's float is", () => {
  expect(parametersFromText('{"a":2.0,"b":2}')).toEqual(
    new Map<string, ParameterValue>([
      ["a", { kind: "double", value: 2 }],
      ["b", { kind: "int64", value: 2n }],
    ]),
  );
});

test("a text that is no JSON is refused", () => {
  expect(() => parametersFromText('{"a":NaN}')).toThrow(SyntaxError);
});
