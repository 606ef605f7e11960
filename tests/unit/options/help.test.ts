import { expect, test } from "bun:test";
import { COMMAND_LINE_PAGE, commandLinePage } from "../../../deploy/command-line-page.ts";
import { fullHelp } from "../../../src/options/help.ts";
import { OPTION_NAMES } from "../../../src/options/option-table.ts";

test("the help names every flag once and keeps to 100 columns", () => {
  const help = fullHelp();
  for (const name of OPTION_NAMES) {
    expect(help.split("\n").filter((l) => l.split(" ")[2] === `--${name}`)).toHaveLength(1);
  }
  expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
});

test("docs/command-line.md is what the table of flags makes; `bun deploy/command-line-page.ts` writes it", async () => {
  expect(await Bun.file(COMMAND_LINE_PAGE).text()).toBe(commandLinePage());
});
