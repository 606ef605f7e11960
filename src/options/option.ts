/** Headings under which the help and docs/command-line.md list the flags, in that order. */
export const OPTION_GROUPS = [
  "General",
  "Logging",
  "Model repository",
  "HTTP",
  "gRPC",
  "Metrics",
  "Tracing",
  "Backends, agents and caches",
  "Rate limiter",
  "Memory and devices",
  "Shared memory",
  "SageMaker and Vertex AI",
  "Deprecated",
] as const;

/** One of {@link OPTION_GROUPS}. */
export type OptionGroup = (typeof OPTION_GROUPS)[number];

/** A command line that cannot be followed. The message names the flag, what was given and what is allowed. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** One flag: the row from which parsing, help and docs/command-line.md are made. */
export interface Option<Value> {
  /** How the value looks in the help, for example `<integer>`; undefined for a flag without a value. */
  readonly valueName: string | undefined;
  readonly defaultValue: Value;
  /** The default as people read it; "" where there is none. */
  readonly defaultText: string;
  /** One or two sentences. */
  readonly meaning: string;
  /** True, or the reason why the flag is accepted and has no effect. */
  readonly served: true | string;
  /** May be given several times, each adding to the value. */
  readonly isRepeatable: boolean;
  /** What to use in its place, for a flag that is only kept for old command lines. */
  readonly replacement: string | undefined;
  /** The flag of which this one is another name. */
  readonly aliasOf: string | undefined;
  /**
   * Reads one occurrence of the flag.
   *
   * @param text what stands after `=`, "" for a flag without a value.
   * @param earlier the value so far: the default, or that of the occurrence before.
   * @param name the flag without its dashes, for messages.
   * @throws OptionError
   */
  parse(text: string, earlier: Value, name: string): Value;
}

/** The value of an option row. */
export type OptionValue<Row> = Row extends Option<infer Value> ? Value : never;

/** What the builders of rows take besides type and default. */
interface RowNotes {
  readonly served?: true | string;
  readonly replacement?: string;
  readonly aliasOf?: string;
  readonly defaultText?: string;
}

function row<Value>(
  valueName: string | undefined,
  defaultValue: Value,
  meaning: string,
  notes: RowNotes,
  parse: Option<Value>["parse"],
): Option<Value> {
  return {
    valueName,
    defaultValue,
    defaultText: notes.defaultText ?? (defaultValue === undefined ? "" : String(defaultValue)),
    meaning,
    served: notes.served ?? true,
    isRepeatable: false,
    replacement: notes.replacement,
    aliasOf: notes.aliasOf,
    parse,
  };
}

/** A flag without a value: there or not. */
export function presence(meaning: string, notes: RowNotes = {}): Option<boolean> {
  return row(undefined, false, meaning, { defaultText: "", ...notes }, () => true);
}

/** Triton's booleans: true/on/1 and false/off/0 in any case. @throws OptionError */
export function parseBoolean(text: string, name: string): boolean {
  const lowered = text.toLowerCase();
  if (lowered === "true" || lowered === "on" || lowered === "1") return true;
  if (lowered === "false" || lowered === "off" || lowered === "0") return false;
  throw new OptionError(
    `invalid value for bool option: ${text} (--${name} may be true, on, 1, false, off or 0)`,
  );
}

/** A boolean with a value. */
export function boolean(
  defaultValue: boolean,
  meaning: string,
  notes: RowNotes = {},
): Option<boolean> {
  return row("<boolean>", defaultValue, meaning, notes, (text, _earlier, name) =>
    parseBoolean(text, name),
  );
}

/**
 * A decimal number between two limits, both included.
 * @param label what the number belongs to, for the message.
 * @throws OptionError
 */
export function parseInteger(text: string, label: string, min: number, max: number): number {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw new OptionError(`Invalid option value. Got ${text} for ${label}, an integer is needed`);
  }
  if (value < min || value > max) {
    throw new OptionError(
      `invalid argument for ${label}: ${value}. Must be in the range ${min} to ${max}.`,
    );
  }
  return value;
}

/** Triton keeps most numbers in a C int. */
export const INT32_MAX = 2 ** 31 - 1;

/** A whole number between two limits, both included. */
export function integer(
  defaultValue: number,
  [min, max]: readonly [number, number],
  meaning: string,
  notes: RowNotes = {},
): Option<number> {
  return row("<integer>", defaultValue, meaning, notes, (text, _earlier, name) =>
    parseInteger(text, `--${name}`, min, max),
  );
}

/** A whole number that has no default; undefined unless given. */
export function optionalInteger(
  [min, max]: readonly [number, number],
  meaning: string,
  notes: RowNotes = {},
): Option<number | undefined> {
  return row<number | undefined>("<integer>", undefined, meaning, notes, (text, _earlier, name) =>
    parseInteger(text, `--${name}`, min, max),
  );
}

/** Any text. @param valueName for the help, for example `<path>`. */
export function text(
  valueName: string,
  defaultValue: string,
  meaning: string,
  notes: RowNotes = {},
): Option<string> {
  return row(valueName, defaultValue, meaning, notes, (given) => given);
}

/** One of a few words. */
export function choice<Word extends string>(
  words: readonly Word[],
  defaultValue: Word,
  meaning: string,
  notes: RowNotes = {},
): Option<Word> {
  return row(`<${words.join("|")}>`, defaultValue, meaning, notes, (given, _earlier, name) => {
    const word = words.find((candidate) => candidate === given);
    if (word === undefined) {
      throw new OptionError(
        `invalid argument for --${name}, got: ${given} (allowed are ${words.join(", ")})`,
      );
    }
    return word;
  });
}

/** A flag that is read by a function of its own and keeps the last value given. */
export function single<Value>(
  valueName: string,
  defaultValue: Value,
  defaultText: string,
  parseOne: (text: string, name: string) => Value,
  meaning: string,
  notes: RowNotes = {},
): Option<Value> {
  return row(valueName, defaultValue, meaning, { ...notes, defaultText }, (given, _earlier, name) =>
    parseOne(given, name),
  );
}

/** A flag that may be given several times; the value is the list of all. */
export function list<Item>(
  valueName: string,
  parseOne: (text: string, name: string) => Item,
  meaning: string,
  notes: RowNotes = {},
): Option<readonly Item[]> {
  return {
    ...row<readonly Item[]>(
      valueName,
      [],
      meaning,
      { defaultText: "", ...notes },
      (given, earlier, name) => [...earlier, parseOne(given, name)],
    ),
    isRepeatable: true,
  };
}
