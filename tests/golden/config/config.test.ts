import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { configFromBinary, configToBinary } from "../../../src/core/config/config-binary.ts";
import { configToJson } from "../../../src/core/config/config-json.ts";
import {
  type ParsedConfig,
  parseConfigJson,
  parseConfigText,
} from "../../../src/core/config/parse-config.ts";

const cases = readdirSync(import.meta.dir, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe.each(cases)("golden configuration %s", (name) => {
  // Through the binary form, which rounds 32-bit floats: JSON readers keep them as doubles.
  const rounded = ({ message }: ParsedConfig) => configFromBinary(configToBinary(message));
  const read = (file: string) => Bun.file(join(import.meta.dir, name, file)).text();

  test("means the same as to another parser of the text format", async () => {
    const parsed = parseConfigText(await read("config.pbtxt"), "config.pbtxt");
    const expected = parseConfigJson(await read("expected.json"), "expected.json");
    expect(rounded(parsed)).toEqual(rounded(expected));
  });

  test("means the same again after it was printed as JSON", async () => {
    const parsed = parseConfigText(await read("config.pbtxt"), "config.pbtxt");
    const printed = parseConfigJson(configToJson(parsed.message), "printed");
    expect(rounded(printed)).toEqual(rounded(parsed));
  });
});
