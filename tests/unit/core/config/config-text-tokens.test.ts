import { describe, expect, test } from "bun:test";
import { tokenizeConfigText } from "../../../../src/core/config/config-text-tokens.ts";

function textsOf(text: string): string[] {
  return tokenizeConfigText(text).tokens.map((token) => token.text);
}

describe("tokenizeConfigText", () => {
  test("cuts names, numbers, strings and symbols", () => {
    expect(textsOf("a: -0x1F b { c: 'x\\'y' } d: [1.5e-3f, .5] <>;")).toEqual([
      ...["a", ":", "-", "0x1F", "b", "{", "c", ":", "'x\\'y'", "}"],
      ...["d", ":", "[", "1.5e-3f", ",", ".5", "]", "<", ">", ";"],
    ]);
  });

  test("tells line and column of each token, whatever the line ends", () => {
    const { tokens } = tokenizeConfigText("# note\r\n a: 1 # more\n\n\tb: 2");
    expect(tokens.map(({ text, line, column }) => [text, line, column])).toEqual([
      ["a", 2, 2],
      [":", 2, 3],
      ["1", 2, 5],
      ["b", 4, 2],
      [":", 4, 3],
      ["2", 4, 5],
    ]);
  });

  test("parts a number from the word that touches it", () => {
    expect(textsOf("a:8b:-inf")).toEqual(["a", ":", "8", "b", ":", "-inf"]);
  });

  test.each([
    ["a: $x", 1, 4, "unexpected '$'; a placeholder was left in place"],
    ["a: 1\n// x", 2, 1, "unexpected '/'; comments start with '#'"],
    ["a: 'x\n'", 1, 4, "the string is not closed before the end of its line"],
    ["\ufeffa: 1", 1, 1, "unexpected byte order mark; save the file as UTF-8 without one"],
    ["a: 😀", 1, 4, 'unexpected "😀"'],
  ])("stops at %j", (text, line, column, message) => {
    expect(tokenizeConfigText(text).fault).toEqual({ line, column, message });
  });

  test("reads a string of a megabyte", () => {
    const [token] = tokenizeConfigText(`"${"x\\n".repeat(350_000)}"`).tokens;
    expect(token?.text.length).toBe(1_050_002);
  });
});
