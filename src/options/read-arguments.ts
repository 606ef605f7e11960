import { nearestName } from "../base/nearest-name.ts";
import { type Option, OptionError } from "./option.ts";
import {
  isOptionName,
  OPTION_NAMES,
  OPTION_TABLE,
  type OptionName,
  type OptionValues,
} from "./option-table.ts";

/** A command line after reading. */
export interface ReadArguments {
  readonly values: OptionValues;
  /** Flags that were there, by their full names; aliases under the name they stand for. */
  readonly given: ReadonlySet<OptionName>;
  /** What was no flag. */
  readonly positional: readonly string[];
}

/**
 * The flag that a text names: its full name, or a beginning that no other flag shares.
 * @throws OptionError with getopt's words, and the flag that was probably meant.
 */
export function resolveOptionName(given: string): OptionName {
  if (isOptionName(given)) return given;
  const candidates = given === "" ? [] : OPTION_NAMES.filter((name) => name.startsWith(given));
  const [only, another] = candidates;
  if (only !== undefined && another === undefined) return only;
  if (only !== undefined) {
    const possibilities = candidates.map((name) => `'--${name}'`).join(" ");
    throw new OptionError(`option '--${given}' is ambiguous; possibilities: ${possibilities}`);
  }
  const near = nearestName(given, OPTION_NAMES);
  const hint = near === undefined ? "" : `; did you mean '--${near}'?`;
  throw new OptionError(`unrecognized option '--${given}'${hint}`);
}

/** Short forms that people try first. */
const SHORT_FORMS: Readonly<Record<string, string>> = { "-h": "--help", "-?": "--help" };

/**
 * Reads flags as GNU getopt_long does: `--name=value` or `--name value`, names may be shortened, `--` ends the flags,
 * flags and other words may be mixed.
 * @throws OptionError
 */
export function readArguments(argv: readonly string[]): ReadArguments {
  const values: Record<string, unknown> = {};
  for (const name of OPTION_NAMES) values[name] = OPTION_TABLE[name].defaultValue;
  const given = new Set<OptionName>();
  const positional: string[] = [];

  for (let at = 0; at < argv.length; at++) {
    const word = SHORT_FORMS[argv[at] ?? ""] ?? argv[at] ?? "";
    if (word === "--") {
      positional.push(...argv.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      positional.push(word);
      continue;
    }
    if (!word.startsWith("--")) {
      throw new OptionError(`unrecognized option '${word}'; flags begin with two dashes`);
    }
    const equals = word.indexOf("=");
    const name = resolveOptionName(word.slice(2, equals < 0 ? undefined : equals));
    const option: Option<unknown> = OPTION_TABLE[name];
    let text = equals < 0 ? undefined : word.slice(equals + 1);
    if (option.valueName === undefined) {
      if (text !== undefined) throw new OptionError(`option '--${name}' doesn't allow an argument`);
      text = "";
    } else if (text === undefined) {
      at += 1;
      text = argv[at];
      if (text === undefined) {
        throw new OptionError(`option '--${name}' requires an argument: ${option.valueName}`);
      }
    }
    const target = option.aliasOf ?? name;
    values[target] = option.parse(text, values[target], name);
    if (isOptionName(target)) given.add(target);
  }
  // Each value was put there by the row of its name, so it has that row's type.
  return { values: values as OptionValues, given, positional };
}
