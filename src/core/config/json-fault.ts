/** A place in a text, from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings may not hold them.
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** What may come next. The `first…` states stand after an opening bracket, where the closing one may follow at once. */
type Expectation = "value" | "firstElement" | "key" | "firstKey" | "colon" | "commaOrClose" | "end";

/**
 * Where a text stops being JSON. `JSON.parse` does not say.
 *
 * @returns undefined when the text is JSON.
 */
export function findJsonFault(text: string): TextPlace | undefined {
  const open: string[] = [];
  let expectation: Expectation = "value";
  let offset = 0;
  for (;;) {
    SPACE.lastIndex = offset;
    offset += SPACE.exec(text)?.[0].length ?? 0;
    if (offset === text.length) return expectation === "end" ? undefined : placeOf(text, offset);
    TOKEN.lastIndex = offset;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return placeOf(text, offset);
    const next: Expectation | undefined = after(token, expectation, open);
    if (next === undefined) return placeOf(text, offset);
    expectation = next;
    offset += token.length;
  }
}

/** @param open closing brackets awaited, innermost last; changed by brackets. @returns undefined where the token may not stand. */
function after(token: string, expectation: Expectation, open: string[]): Expectation | undefined {
  const mayClose =
    expectation === "commaOrClose" ||
    (expectation === "firstElement" && token === "]") ||
    (expectation === "firstKey" && token === "}");
  if (token === "]" || token === "}") {
    if (!mayClose || open.pop() !== token) return undefined;
    return open.length === 0 ? "end" : "commaOrClose";
  }
  switch (expectation) {
    case "colon":
      return token === ":" ? "value" : undefined;
    case "commaOrClose":
      if (token !== ",") return undefined;
      return open.at(-1) === "}" ? "key" : "value";
    case "key":
    case "firstKey":
      return token.startsWith('"') ? "colon" : undefined;
    case "end":
      return undefined;
    case "value":
    case "firstElement":
      return afterValueStart(token, open);
  }
}

function afterValueStart(token: string, open: string[]): Expectation | undefined {
  if (token === "{") {
    open.push("}");
    return "firstKey";
  }
  if (token === "[") {
    open.push("]");
    return "firstElement";
  }
  if (token === "," || token === ":") return undefined;
  return open.length === 0 ? "end" : "commaOrClose";
}

function placeOf(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}
