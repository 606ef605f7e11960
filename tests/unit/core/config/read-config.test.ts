import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readModelConfig } from "../../../../src/core/config/read-config.ts";
import { refusalOfPromise } from "../../../support/config-texts.ts";
import { TemporaryFolder } from "../../../support/temporary-folder.ts";

let model: TemporaryFolder;
beforeEach(() => {
  model = new TemporaryFolder();
});
afterEach(() => model.dispose());

const ON = { isAutoCompleteOn: true };

describe("readModelConfig", () => {
  test.each([
    ["config.pbtxt", "max_batch_size: 3"],
    ["config.json", '{"max_batch_size": 3}'],
    ["config.yaml", "max_batch_size: 3"],
  ])("reads %s", async (file, text) => {
    const path = model.file(file, text);
    const { message, givenFields, source } = await readModelConfig(model.path, ON);
    expect(message.maxBatchSize).toBe(3);
    expect(givenFields).toEqual(new Set(["max_batch_size"]));
    expect(source).toBe(path);
  });

  test("refuses two forms side by side, naming both", async () => {
    model.file("config.pbtxt", "");
    model.file("config.yaml", "");
    expect(await refusalOfPromise(readModelConfig(model.path, ON))).toBe(
      `a model may have one configuration file, found ${model.path}/config.pbtxt and ` +
        `${model.path}/config.yaml; remove all but one`,
    );
  });

  test("takes the named configuration where there is one, and the plain one otherwise", async () => {
    model.file("config.pbtxt", "max_batch_size: 1");
    model.file("configs/fast.pbtxt", "max_batch_size: 2");
    const batchSize = async (configName: string) =>
      (await readModelConfig(model.path, { ...ON, configName })).message.maxBatchSize;
    expect([await batchSize("fast"), await batchSize("slow"), await batchSize("")]).toEqual([
      2, 1, 1,
    ]);
  });

  test("takes an override in place of every file", async () => {
    model.file("config.pbtxt", "nonsense");
    const options = { ...ON, configName: "fast", overrideJson: '{"maxBatchSize": 5}' };
    expect((await readModelConfig(model.path, options)).message.maxBatchSize).toBe(5);
    const refusal = readModelConfig(model.path, { ...ON, overrideJson: '{"x": 1}' });
    expect(await refusalOfPromise(refusal)).toStartWith(
      "failed to read JSON from the load parameter 'config': x: unknown field 'x'",
    );
  });

  test("needs no file with auto-completion, and needs one without", async () => {
    const { message, source } = await readModelConfig(model.path, ON);
    expect(message.name).toBe("");
    expect(source).toBe(`${model.path}/config.pbtxt`);
    expect(
      await refusalOfPromise(readModelConfig(model.path, { isAutoCompleteOn: false })),
    ).toStartWith(
      `failed to open text file for read ${model.path}/config.pbtxt: No such file or directory`,
    );
  });

  test("refuses a byte order mark, and bytes that are no UTF-8 by their line", async () => {
    model.file("config.pbtxt", "\ufeffname: 'm'");
    expect(await refusalOfPromise(readModelConfig(model.path, ON))).toContain(
      "config.pbtxt:1:1: unexpected byte order mark",
    );
    model.file("config.pbtxt", Buffer.from("# ok é\nname: '\xff'\n", "latin1"));
    expect(await refusalOfPromise(readModelConfig(model.path, ON))).toContain(
      "config.pbtxt:1: the line",
    );
    model.file(
      "config.pbtxt",
      Buffer.concat([Buffer.from("# é\n"), Buffer.from([0x27, 0xff, 0x0a])]),
    );
    expect(await refusalOfPromise(readModelConfig(model.path, ON))).toContain(
      "config.pbtxt:2: the line",
    );
  });

  test("reports a folder in place of the file", async () => {
    model.directory("config.pbtxt");
    expect(await refusalOfPromise(readModelConfig(model.path, ON))).toStartWith(
      `failed to open text file for read ${model.path}/config.pbtxt: `,
    );
  });
});
