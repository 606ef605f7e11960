import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync } from "node:fs";
import { DescriptorOutput } from "../../src/descriptor-output.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

test("a file gets all lines at its end, in order", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("server.log", "before\n");
  const output = DescriptorOutput.file(path);
  output.write("INFO", "one\n");
  output.write("ERROR", "two\n");
  output.close();
  output.write("INFO", "after the end\n");
  output.close();
  expect(readFileSync(path, "utf8")).toBe("before\none\ntwo\n");
});

test("a file that cannot be opened is an error that names it", () => {
  using folder = new TemporaryFolder();
  expect(() => DescriptorOutput.file(`${folder.path}/none/server.log`)).toThrow("server.log");
});

test("a line that cannot be written is dropped and counted, and the next is tried", () => {
  // Every write to this device fails with ENOSPC.
  const output = DescriptorOutput.file("/dev/full");
  output.write("INFO", "lost\n");
  output.write("INFO", "lost too\n");
  expect(output.droppedCount).toBe(2);
  output.close();
});

test("closing leaves no descriptor behind", () => {
  using folder = new TemporaryFolder();
  const before = openSync(folder.path, "r");
  closeSync(before);
  const output = DescriptorOutput.file(folder.file("a.log"));
  output.close();
  const after = openSync(folder.path, "r");
  closeSync(after);
  expect(after).toBe(before);
});
