import { OPTION_GROUPS, type Option } from "./option.ts";
import { OPTIONS_BY_GROUP } from "./option-table.ts";

/** What `tribune` alone prints. */
export const SHORT_HELP = `tribune: a model server in one file, with Triton Inference Server's protocols, configuration and metrics.

  tribune serve FOLDER        serve the models in a folder
  tribune serve [FLAGS]       the same with tritonserver's flags
  tribune help serve          all flags
  tribune --version           version of this program
`;

const LINE_COLUMNS = 100;
const MEANING_INDENT = "        ";

/** The start of a flag's entry, `--http-port <integer>`. */
export function optionUsage(name: string, option: Option<unknown>): string {
  return option.valueName === undefined ? `--${name}` : `--${name} ${option.valueName}`;
}

/** Sentences about a flag besides its meaning: what it is another name of, what replaces it, why it has no effect. */
export function optionNotes(option: Option<unknown>): readonly string[] {
  const notes: string[] = [];
  if (option.isRepeatable) notes.push("May be given several times.");
  if (option.replacement !== undefined) notes.push(`Use ${option.replacement} instead.`);
  if (option.served !== true) notes.push(`Accepted, without effect: ${option.served}.`);
  return notes;
}

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = MEANING_INDENT.trimEnd();
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > LINE_COLUMNS) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? MEANING_INDENT + word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

/** What `tribune help serve` prints: every flag under its heading. */
export function fullHelp(): string {
  const parts = [
    "tribune serve [FOLDER …] [--flag=value …]",
    "",
    "Flags are tritonserver's; `--flag value` works as well, and a flag may be shortened as long as",
    "only one is meant.",
  ];
  for (const group of OPTION_GROUPS) {
    parts.push("", `${group}:`);
    for (const [name, option] of Object.entries(OPTIONS_BY_GROUP[group])) {
      const standard = option.defaultText === "" ? "" : ` Default: ${option.defaultText}.`;
      parts.push(
        `  ${optionUsage(name, option)}`,
        wrapped([option.meaning + standard, ...optionNotes(option)].join(" ")),
      );
    }
  }
  return `${parts.join("\n")}\n`;
}
