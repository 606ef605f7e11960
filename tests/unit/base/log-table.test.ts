import { expect, test } from "bun:test";
import { formatTable } from "../../../src/base/log-table.ts";

test("columns are as wide as their widest cell, wide characters counted as two", () => {
  expect(formatTable({ columns: ["A", "Status"], rows: [["漢字", "READY"]] })).toBe(
    [
      "+------+--------+",
      "| A    | Status |",
      "+------+--------+",
      "| 漢字 | READY  |",
      "+------+--------+",
    ].join("\n"),
  );
});

test("a cell with line breaks takes several lines", () => {
  expect(
    formatTable({
      columns: ["M", "S"],
      rows: [
        ["a", "x\ny\n"],
        ["b", "z"],
      ],
    }),
  ).toBe(
    [
      "+---+---+",
      "| M | S |",
      "+---+---+",
      "| a | x |",
      "|   | y |",
      "| b | z |",
      "+---+---+",
    ].join("\n"),
  );
});

test("a table without rows has its heads", () => {
  expect(formatTable({ columns: ["Model"], rows: [] })).toBe(
    "+-------+\n| Model |\n+-------+\n+-------+",
  );
});

test("a long cell is broken at its spaces, a long word is not", () => {
  const lines = formatTable({
    columns: ["S"],
    rows: [["word ".repeat(50)], ["x".repeat(150)]],
  }).split("\n");
  expect(lines.slice(3, 6).map((line) => line.split("word").length - 1)).toEqual([20, 20, 10]);
  expect(lines.at(-2)).toContain("x".repeat(150));
});
