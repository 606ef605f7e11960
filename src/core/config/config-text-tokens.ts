/** One token of the protobuf text format. */
export interface ConfigToken {
  /** As written; a string with its quotes and escapes. */
  readonly text: string;
  readonly kind: "name" | "number" | "string" | "symbol";
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

/** A place where the text stops being made of tokens. */
export interface TokenFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The tokens of a text; with a fault, those before it. */
export interface TokenizedConfig {
  readonly tokens: readonly ConfigToken[];
  readonly fault: TokenFault | undefined;
}

const SPACE = /(?:[ \t\r\n\v\f]+|#[^\n]*)+/y;
// A minus glued to a letter belongs to `-inf`; before a number it is a token of its own.
const NAME = /-?[A-Za-z_][A-Za-z0-9_]*/y;
// Ends where a number cannot go on, so that `8input` is a number and a name, as Triton's parser reads it.
const NUMBER = /0[xX][0-9a-fA-F]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?/y;
const STRING = /"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*'/y;
const SYMBOL = /[{}<>[\]:,;-]/y;

/**
 * Cuts a config.pbtxt into tokens; comments and white space fall away.
 * @see https://protobuf.dev/reference/protobuf/textformat-spec/
 */
export function tokenizeConfigText(text: string): TokenizedConfig {
  const tokens: ConfigToken[] = [];
  let offset = 0;
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const space = matchAt(SPACE, text, offset) ?? "";
    for (let i = space.indexOf("\n"); i >= 0; i = space.indexOf("\n", i + 1)) {
      line++;
      lineStart = offset + i + 1;
    }
    offset += space.length;
    if (offset === text.length) return { tokens, fault: undefined };
    const column = offset - lineStart + 1;
    const token = tokenAt(text, offset);
    if (token === undefined)
      return { tokens, fault: { line, column, message: lexicalFault(text, offset) } };
    tokens.push({ ...token, line, column });
    offset += token.text.length;
  }
}

function tokenAt(text: string, offset: number): Pick<ConfigToken, "kind" | "text"> | undefined {
  const name = matchAt(NAME, text, offset);
  if (name !== undefined) return { kind: "name", text: name };
  const number = matchAt(NUMBER, text, offset);
  if (number !== undefined) return { kind: "number", text: number };
  const string = matchAt(STRING, text, offset);
  if (string !== undefined) return { kind: "string", text: string };
  const symbol = matchAt(SYMBOL, text, offset);
  return symbol === undefined ? undefined : { kind: "symbol", text: symbol };
}

function matchAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.exec(text)?.[0];
}

function lexicalFault(text: string, offset: number): string {
  const character = String.fromCodePoint(text.codePointAt(offset) ?? 0);
  if (character === "\ufeff")
    return "unexpected byte order mark; save the file as UTF-8 without one";
  if (character === '"' || character === "'")
    return "the string is not closed before the end of its line";
  if (character === "/") return "unexpected '/'; comments start with '#'";
  if (character === "$") return "unexpected '$'; a placeholder was left in place";
  return `unexpected ${JSON.stringify(character)}`;
}
