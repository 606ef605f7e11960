import { join } from "node:path";
import { InferenceError } from "../../base/error.ts";
import type { ParsedConfig } from "./parse-config.ts";
import { emptyConfig, parseConfigJson, parseConfigText, parseConfigYaml } from "./parse-config.ts";
import { readRegularFile } from "./read-regular-file.ts";

/** Options of {@link readModelConfig}. */
export interface ReadConfigOptions {
  /** `--model-config-name`: `configs/<name>.*` comes before the files of the model directory itself. */
  readonly configName?: string | undefined;
  /** The `config` parameter of a load request, which then takes the place of every file. */
  readonly overrideJson?: string | undefined;
  /** False under `--disable-auto-complete-config`, where a model must have a configuration file. */
  readonly isAutoCompleteOn: boolean;
}

type Parse = (text: string, source: string) => ParsedConfig;

/** Forms of the file by ending; `pbtxt` is Triton's, the others are our own addition with the same schema. */
const FORMS: readonly (readonly [ending: string, parse: Parse])[] = [
  ["pbtxt", parseConfigText],
  ["json", parseConfigJson],
  ["yaml", parseConfigYaml],
];

/**
 * Reads the configuration of a model as its author wrote it.
 *
 * @param modelDirectory absolute folder of the model.
 * @returns an empty configuration where there is no file, or an empty file, and completion is on.
 * @throws InferenceError INVALID_ARG where the file is missing or cannot be read, or where several forms of it stand
 *   side by side.
 */
export async function readModelConfig(
  modelDirectory: string,
  options: ReadConfigOptions,
): Promise<ParsedConfig> {
  if (options.overrideJson !== undefined) {
    return parseConfigJson(options.overrideJson, "the load parameter 'config'");
  }
  if (options.configName !== undefined && options.configName !== "") {
    const named = await readOneOf(join(modelDirectory, "configs"), options.configName);
    if (named !== undefined) return named;
  }
  const plain = await readOneOf(modelDirectory, "config");
  if (plain !== undefined) return plain;
  const path = join(modelDirectory, "config.pbtxt");
  if (options.isAutoCompleteOn) return emptyConfig(path);
  throw new InferenceError(
    "INVALID_ARG",
    `failed to open text file for read ${path}: No such file or directory; with auto-completion off every model needs one`,
  );
}

/** @returns undefined when no form of the file is there. */
async function readOneOf(directory: string, name: string): Promise<ParsedConfig | undefined> {
  const found: { path: string; bytes: Uint8Array; parse: Parse }[] = [];
  for (const [ending, parse] of FORMS) {
    const path = join(directory, `${name}.${ending}`);
    const bytes = await readIfPresent(path);
    if (bytes !== undefined) found.push({ path, bytes, parse });
  }
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  if (others.length > 0) {
    const paths = found.map(({ path }) => path).join(" and ");
    throw new InferenceError(
      "INVALID_ARG",
      `a model may have one configuration file, found ${paths}; remove all but one`,
    );
  }
  return first.parse(decode(first.bytes, first.path), first.path);
}

async function readIfPresent(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readRegularFile(path);
  } catch (thrown) {
    const code = (thrown as { readonly code?: unknown }).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new InferenceError(
      "INVALID_ARG",
      `failed to open text file for read ${path}: ${reason}`,
      { cause: thrown },
    );
  }
}

/** Keeps a byte order mark, so that the parser can refuse it. */
function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (thrown) {
    throw new InferenceError(
      "INVALID_ARG",
      `failed to read text from ${path}:${firstBadLine(bytes)}: the line is not valid UTF-8`,
      { cause: thrown },
    );
  }
}

/** From 1. A line feed is never part of a longer UTF-8 sequence, so lines can be decoded one by one. */
function firstBadLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start <= bytes.length; line++) {
    const end = bytes.indexOf(0x0a, start);
    const part = bytes.subarray(start, end < 0 ? bytes.length : end);
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(part);
    } catch {
      return line;
    }
    if (end < 0) break;
    start = end + 1;
  }
  return line;
}
