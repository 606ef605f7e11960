import { expect, test } from "bun:test";
import { ReadyModels } from "../../../../src/core/model/ready-models.ts";
import { StubModel } from "../../../support/stub-model.ts";

test("no version means the highest by number", () => {
  const ready = new ReadyModels();
  const [two, ten] = [new StubModel("m", 2), new StubModel("m", 10)];
  ready.set("m", [ten, two]);
  expect(ready.find("m", "")).toBe(ten);
  expect(ready.find("m", "2")).toBe(two);
  expect(ready.find("m", "3")).toBeUndefined();
  expect(ready.find("other", "")).toBeUndefined();
  expect(ready.versionsOf("m")).toEqual([two, ten]);
});

test("all models come by name, then version", () => {
  const ready = new ReadyModels();
  ready.set("b", [new StubModel("b", 10), new StubModel("b", 9)]);
  ready.set("a", [new StubModel("a", 1)]);
  expect(ready.all().map((model) => `${model.name} ${model.version}`)).toEqual([
    "a 1",
    "b 9",
    "b 10",
  ]);
  ready.set("b", []);
  expect(ready.all()).toHaveLength(1);
  expect(ready.find("b", "")).toBeUndefined();
});
