import type { LogTable } from "./log-record.ts";

function columnWidths(lines: readonly (readonly string[])[], columnCount: number): number[] {
  return Array.from({ length: columnCount }, (_, at) =>
    Math.max(...lines.map((cells) => Bun.stringWidth(cells[at] ?? ""))),
  );
}

/** A cell wider than this is broken at its spaces. */
const MAX_CELL_COLUMNS = 100;

function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && Bun.stringWidth(longer) > MAX_CELL_COLUMNS) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** The lines of one row: a cell that is long, or has line breaks, takes several. */
function cellLines(row: readonly string[]): readonly (readonly string[])[] {
  const cells = row.map((cell) => cell.trimEnd().split("\n").flatMap(wrapped));
  const lineCount = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: lineCount }, (_, at) => cells.map((lines) => lines[at] ?? ""));
}

/** Triton's tables: `+---+` above, below and under the heads, no line break at the end. */
export function formatTable({ columns, rows }: LogTable): string {
  const body = rows.flatMap(cellLines);
  const widths = columnWidths([columns, ...body], columns.length);
  const rule = `+${widths.map((width) => "-".repeat(width + 2)).join("+")}+`;
  const line = (cells: readonly string[]) =>
    `|${widths
      .map((width, at) => {
        const cell = cells[at] ?? "";
        return ` ${cell}${" ".repeat(width - Bun.stringWidth(cell))} `;
      })
      .join("|")}|`;
  return [rule, line(columns), rule, ...body.map(line), rule].join("\n");
}
