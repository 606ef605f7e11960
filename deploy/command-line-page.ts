/** Writes docs/command-line.md from the table of flags: `bun deploy/command-line-page.ts`. */
import { fileURLToPath } from "node:url";
import { optionNotes } from "../src/options/help.ts";
import { OPTION_GROUPS, type Option } from "../src/options/option.ts";
import { OPTIONS_BY_GROUP } from "../src/options/option-table.ts";

/** Where the page lies in the repository. */
export const COMMAND_LINE_PAGE = fileURLToPath(new URL("../docs/command-line.md", import.meta.url));

const HEAD = `# Command line

This page is made from the table of flags in src/options; \`bun deploy/command-line-page.ts\` writes it anew.

\`\`\`
tribune serve FOLDER        serve the models in a folder
tribune serve [FLAGS]       the same with tritonserver's flags
tribune help serve          all flags
tribune --version           version of this program
\`\`\`

A line that begins with a flag is meant for \`serve\`. Flags are written \`--flag=value\` or \`--flag value\` and may be
shortened as long as only one is meant. Booleans are \`true\`, \`on\`, \`1\`, \`false\`, \`off\` and \`0\` in any case. A flag that is
wrong ends the program with status 1 and a line on standard error. A flag without effect is accepted, and one warning
at start says why it has none.

Environment: \`TRITON_SERVER_ESCAPE_LOG_MESSAGES=0\` prints messages as they are, control characters included.
\`OTEL_BSP_MAX_QUEUE_SIZE\`, \`OTEL_BSP_SCHEDULE_DELAY\` and \`OTEL_BSP_MAX_EXPORT_BATCH_SIZE\` are defaults of the settings
of the same name in \`--trace-config\`. \`AIP_HTTP_PORT\` is the default of \`--vertex-ai-port\`. A file \`.env\` is not read.
`;

/** Text for one cell of a table. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}

function line(name: string, option: Option<unknown>): string {
  const value =
    option.valueName === undefined ? "" : `\`${option.valueName.replaceAll("|", "\\|")}\``;
  const standard = option.defaultText === "" ? "" : `\`${option.defaultText}\``;
  const meaning = [option.meaning, ...optionNotes(option)].map(cell).join(" ");
  return `| \`--${name}\` | ${value} | ${standard} | ${meaning} |`;
}

/** The page as it has to be. */
export function commandLinePage(): string {
  const parts = [HEAD];
  for (const group of OPTION_GROUPS) {
    parts.push(
      `## ${group}`,
      "",
      "| flag | value | default | meaning |",
      "|---|---|---|---|",
      ...Object.entries(OPTIONS_BY_GROUP[group]).map(([name, option]) => line(name, option)),
      "",
    );
  }
  return parts.join("\n");
}

if (import.meta.main) await Bun.write(COMMAND_LINE_PAGE, commandLinePage());
