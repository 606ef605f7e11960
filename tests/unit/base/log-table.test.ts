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
