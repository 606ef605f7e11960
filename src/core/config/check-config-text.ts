import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { ConfigToken, TokenFault, TokenizedConfig } from "./config-text-tokens.ts";
import type { MapField, SingleValue } from "./config-text-value.ts";
import { entryValue, faultOfValue, fieldValue } from "./config-text-value.ts";
import { unknownFieldWords, valueWords } from "./field-words.ts";

/** What is wrong with a config.pbtxt, where, and in which field. */
export interface ConfigTextFault {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** For example `input[0].dims`; "" outside of any field. */
  readonly path: string;
  readonly message: string;
}

/** Outcome of {@link checkConfigText}. */
export interface ConfigTextCheck {
  /** The first fault. */
  readonly fault: ConfigTextFault | undefined;
  /** Fields of the outermost message that were written, whatever their values; up to the fault. */
  readonly givenFields: ReadonlySet<string>;
}

/**
 * Looks for the first fault in a config.pbtxt. It knows the shape of the text format and leaves single values to the
 * protobuf library, which also builds the message afterwards; a test holds the two against each other.
 */
export function checkConfigText(tokenized: TokenizedConfig, root: DescMessage): ConfigTextCheck {
  const checker = new TextChecker(tokenized);
  try {
    checker.checkDocument(root);
    return { fault: undefined, givenFields: checker.givenFields };
  } catch (thrown) {
    if (!(thrown instanceof FaultFound)) throw thrown;
    return { fault: thrown.fault, givenFields: checker.givenFields };
  }
}

/** Ends the descent at the first fault; never leaves this file. */
class FaultFound extends Error {
  readonly fault: ConfigTextFault;

  constructor(fault: ConfigTextFault) {
    super(fault.message);
    this.fault = fault;
  }
}

type ListField = DescField & { readonly fieldKind: "list" };

/** Recursive descent over the tokens; the schema has no recursive message, so the depth is bounded by it. */
class TextChecker {
  readonly givenFields = new Set<string>();
  readonly #tokens: readonly ConfigToken[];
  readonly #lexicalFault: TokenFault | undefined;
  #next = 0;

  constructor(tokenized: TokenizedConfig) {
    this.#tokens = tokenized.tokens;
    this.#lexicalFault = tokenized.fault;
  }

  checkDocument(root: DescMessage): void {
    this.#checkFields(root, "", undefined);
  }

  /** Fields up to the closing bracket, or the end of the text for the outermost message. */
  #checkFields(message: DescMessage, path: string, opener: ConfigToken | undefined): void {
    const seen = new Map<string, ConfigToken>();
    const elementCounts = new Map<string, number>();
    while (!this.#closes(opener, path)) {
      const token = this.#takeName(path, opener);
      const field = message.fields.find(({ name }) => name === token.text);
      if (field === undefined) this.#fail(token, path, unknownFieldWords(token.text, message));
      this.#checkSeen(field, token, path, seen);
      if (path === "") this.givenFields.add(field.name);
      this.#checkFieldValue(field, message, join(path, field.name), elementCounts);
      this.#skipSeparator();
    }
  }

  #checkSeen(
    field: DescField,
    token: ConfigToken,
    path: string,
    seen: Map<string, ConfigToken>,
  ): void {
    const earlier = seen.get(field.name);
    seen.set(field.name, earlier ?? token);
    if (field.fieldKind === "list" || field.fieldKind === "map") return;
    if (earlier !== undefined) this.#fail(token, path, givenTwice(field.name, earlier));
    const members = field.oneof?.fields.map(({ name }) => name) ?? [];
    const rival = members.find((name) => name !== field.name && seen.has(name));
    if (rival === undefined) return;
    const rule = `at most one of ${members.join(", ")} may be given`;
    this.#fail(token, path, `'${field.name}' cannot stand beside '${rival}'; ${rule}`);
  }

  #checkFieldValue(
    field: DescField,
    parent: DescMessage,
    path: string,
    elementCounts: Map<string, number>,
  ): void {
    const isBlock = field.message !== undefined || field.fieldKind === "map";
    const colon = this.#skip(":");
    if (!colon && !isBlock) this.#failHere(path, "':'");
    if (field.fieldKind === "message") {
      this.#checkBlock(field.message, path);
    } else if (field.fieldKind === "list" || field.fieldKind === "map") {
      this.#checkElements(path, () => {
        const index = elementCounts.get(field.name) ?? 0;
        elementCounts.set(field.name, index + 1);
        this.#checkElement(field, parent, `${path}[${index}]`);
      });
    } else {
      this.#checkSingle(fieldValue(field, parent, path));
    }
  }

  /** One element, or a list of them in brackets. */
  #checkElements(path: string, checkElement: () => void): void {
    if (!this.#skip("[")) {
      checkElement();
      return;
    }
    if (this.#skip("]")) return;
    for (;;) {
      checkElement();
      if (this.#skip("]")) return;
      if (!this.#skip(",")) this.#failHere(path, "',' or ']'");
    }
  }

  #checkElement(field: ListField | MapField, parent: DescMessage, path: string): void {
    if (field.fieldKind === "map") this.#checkEntry(field, parent, path);
    else if (field.listKind === "message") this.#checkBlock(field.message, path);
    else this.#checkSingle(fieldValue(field, parent, path));
  }

  #checkBlock(message: DescMessage, path: string): void {
    const opener = this.#takeOpener(path, `a block { … } of ${message.name}`);
    this.#checkFields(message, path, opener);
  }

  #checkEntry(field: MapField, parent: DescMessage, path: string): void {
    const opener = this.#takeOpener(path, valueWords(field));
    const seen = new Map<string, ConfigToken>();
    while (!this.#closes(opener, path)) {
      const token = this.#takeName(path, opener);
      if (token.text !== "key" && token.text !== "value") {
        const words = `unknown field '${token.text}' in a map entry; allowed are key, value`;
        this.#fail(token, path, words);
      }
      const earlier = seen.get(token.text);
      if (earlier !== undefined) this.#fail(token, path, givenTwice(token.text, earlier));
      seen.set(token.text, token);
      const colon = this.#skip(":");
      if (token.text === "value" && field.message !== undefined) {
        this.#checkBlock(field.message, `${path}.value`);
      } else {
        if (!colon) this.#failHere(`${path}.${token.text}`, "':'");
        this.#checkSingle(entryValue(field, parent, token.text, `${path}.${token.text}`));
      }
      this.#skipSeparator();
    }
  }

  /** A sign and a number, a word, or any number of adjacent strings. */
  #checkSingle(value: SingleValue): void {
    const first = this.#peek();
    const isNegative = this.#skip("-");
    const token = this.#peek();
    if (first === undefined || token === undefined || token.kind === "symbol") {
      this.#failHere(value.path, value.expected);
    }
    this.#judge(value, first, isNegative ? `-${token.text}` : token.text);
    this.#next++;
    while (token.kind === "string" && this.#peek()?.kind === "string") {
      const piece = this.#tokens[this.#next++];
      if (piece !== undefined) this.#judge(value, piece, piece.text);
    }
  }

  #judge(value: SingleValue, token: ConfigToken, text: string): void {
    const fault = faultOfValue(value, text);
    if (fault !== undefined) this.#fail(token, value.path, fault);
  }

  /** Whether the block ends here; takes its bracket. Without opener: whether the text ends here. */
  #closes(opener: ConfigToken | undefined, path: string): boolean {
    if (opener !== undefined) return this.#skip(closerOf(opener));
    if (this.#next < this.#tokens.length) return false;
    if (this.#lexicalFault !== undefined) this.#failHere(path, "a field name");
    return true;
  }

  #takeName(path: string, opener: ConfigToken | undefined): ConfigToken {
    const token = this.#peek();
    if (token?.kind === "name") {
      this.#next++;
      return token;
    }
    if (opener === undefined) this.#failHere(path, "a field name");
    const place = `${opener.line}:${opener.column}`;
    this.#failHere(
      path,
      `a field name or the '${closerOf(opener)}' of the block opened at ${place}`,
    );
  }

  #takeOpener(path: string, expected: string): ConfigToken {
    const token = this.#peek();
    if (token?.text !== "{" && token?.text !== "<") this.#failHere(path, expected);
    this.#next++;
    return token;
  }

  #peek(): ConfigToken | undefined {
    return this.#tokens[this.#next];
  }

  #skip(symbol: string): boolean {
    if (this.#peek()?.text !== symbol) return false;
    this.#next++;
    return true;
  }

  /** One "," or ";" may follow a field. */
  #skipSeparator(): void {
    if (!this.#skip(",")) this.#skip(";");
  }

  #fail(token: ConfigToken, path: string, message: string): never {
    throw new FaultFound({ line: token.line, column: token.column, path, message });
  }

  /** The next token, the lexical fault or the end of the text is not what may stand here. */
  #failHere(path: string, expected: string): never {
    const token = this.#peek();
    if (token !== undefined) {
      const found = token.kind === "string" ? token.text : `'${token.text}'`;
      this.#fail(token, path, `found ${found}, expected ${expected}`);
    }
    if (this.#lexicalFault !== undefined) {
      const { line, column, message } = this.#lexicalFault;
      throw new FaultFound({ line, column, path, message: `${message} (expected ${expected})` });
    }
    const last = this.#tokens.at(-1);
    throw new FaultFound({
      line: last?.line ?? 1,
      column: last === undefined ? 1 : last.column + last.text.length,
      path,
      message: `the file ends where ${expected} is expected`,
    });
  }
}

function closerOf(opener: ConfigToken): string {
  return opener.text === "<" ? ">" : "}";
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function givenTwice(name: string, earlier: ConfigToken): string {
  return `'${name}' is given twice; the first stands at ${earlier.line}:${earlier.column}`;
}
