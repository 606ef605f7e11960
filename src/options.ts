import { nearestName } from "./base/nearest-name.ts";
import { type Option, OptionError } from "./options/option.ts";
import { OPTION_TABLE, type OptionName } from "./options/option-table.ts";
import { type ReadArguments, readArguments } from "./options/read-arguments.ts";
import type { ServerOptions } from "./options/server-options.ts";
import { type Environment, serverOptionsFrom } from "./options/server-options-from.ts";

/** What a command line asks for. */
export type Command =
  | {
      readonly kind: "serve";
      readonly options: ServerOptions;
      /** Lines to log at start: flags without effect, deprecated ones, settings that were skipped. */
      readonly warnings: readonly string[];
    }
  | { readonly kind: "help"; readonly isFull: boolean }
  | { readonly kind: "version" };

/** First words and what they mean. */
const COMMANDS: Readonly<Record<string, "serve" | "help" | "version">> = {
  serve: "serve",
  help: "help",
  "--help": "help",
  "-h": "help",
  version: "version",
  "--version": "version",
  "-v": "version",
};

function flagWarnings({ given }: ReadArguments): readonly string[] {
  const warnings: string[] = [];
  for (const name of given) {
    const option: Option<unknown> = OPTION_TABLE[name];
    if (option.replacement !== undefined) {
      warnings.push(`'--${name}' has been deprecated! Please use '${option.replacement}' instead.`);
    }
    if (option.served !== true) warnings.push(`--${name} has no effect: ${option.served}`);
  }
  return warnings;
}

/** Flags that are served except for one of their values. */
function valueWarnings({ values }: ReadArguments, environment: Environment): readonly string[] {
  const warnings: string[] = [];
  if (values["model-control-mode"] === "poll") {
    warnings.push(
      "--model-control-mode=poll is not served yet: all models are loaded once, later changes in the repository are not followed",
    );
  }
  if (environment.AIP_MODE === "PREDICTION") {
    warnings.push(
      "AIP_MODE=PREDICTION asks for the Vertex AI endpoint, which is not served yet; HTTP and gRPC are served as usual",
    );
  }
  return warnings;
}

function serveCommand(argv: readonly string[], environment: Environment): Command {
  const read = readArguments(argv);
  if (read.given.has("help" satisfies OptionName)) return { kind: "help", isFull: true };
  const skipped: string[] = [];
  const options = serverOptionsFrom(read, environment, skipped);
  return {
    kind: "serve",
    options,
    warnings: [...flagWarnings(read), ...valueWarnings(read, environment), ...skipped],
  };
}

/**
 * Reads the command line, without the program's own name.
 *
 * A line that begins with a flag is meant for `serve`, so that the program can stand in for tritonserver.
 * @throws OptionError with one line that says what is wrong and what is allowed.
 */
export function parseCommandLine(argv: readonly string[], environment: Environment): Command {
  const [first, ...rest] = argv;
  if (first === undefined) return { kind: "help", isFull: false };
  const command = COMMANDS[first];
  if (command === "version") return { kind: "version" };
  if (command === "help") return { kind: "help", isFull: rest[0] === "serve" };
  if (command === "serve") return serveCommand(rest, environment);
  if (first.startsWith("--")) return serveCommand(argv, environment);
  const near = nearestName(first, Object.keys(COMMANDS));
  const hint = near === undefined ? "" : `; did you mean '${near}'?`;
  throw new OptionError(`unknown command '${first}'${hint} (commands are serve and help)`);
}
