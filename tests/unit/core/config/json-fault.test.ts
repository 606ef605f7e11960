import { describe, expect, test } from "bun:test";
import { findJsonFault } from "../../../../src/core/config/json-fault.ts";

describe("findJsonFault", () => {
  test.each(['{"a": [1, -2.5e3, "x\\u00e9"], "b": {}}', "[]", ' "text" ', "null"])(
    "finds nothing in %s",
    (text) => {
      expect(findJsonFault(text)).toBeUndefined();
    },
  );

  test.each([
    ["", 1, 1],
    ["not json", 1, 1],
    ['{"a":\n 1 b}', 2, 4],
    ['{"a": 1,}', 1, 9],
    ["[1, ]", 1, 5],
    ["[1 2]", 1, 4],
    ["{a: 1}", 1, 2],
    ['{"a" 1}', 1, 6],
    ["[1}", 1, 3],
    ['{"a": 01}', 1, 8],
    ["[1] 2", 1, 5],
    ['["a\nb"]', 1, 2],
    ['{"a": {"b": [', 1, 14],
    [":", 1, 1],
  ])("tells where %j stops being JSON", (text, line, column) => {
    expect(findJsonFault(text)).toEqual({ line, column });
    expect(() => JSON.parse(text)).toThrow();
  });

  test("is not troubled by depth", () => {
    expect(findJsonFault("[".repeat(1_000_000))).toEqual({ line: 1, column: 1_000_001 });
  });
});
