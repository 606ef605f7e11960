import { expect, test } from "bun:test";
import { EnsembleGraph } from "../../../../src/core/model/ensemble-graph.ts";

function graph(): EnsembleGraph {
  const made = new EnsembleGraph();
  made.set("inner", ["a", "b"]);
  made.set("outer", ["inner", "a"]);
  made.set("other", ["c"]);
  return made;
}

test("an ensemble stands on its steps", () => {
  expect(graph().stepsOf("inner")).toEqual(["a", "b"]);
  expect(graph().stepsOf("a")).toEqual([]);
});

test("users of a model are found directly, and over other ensembles with the nearest first", () => {
  expect(graph().usersOf("a")).toEqual(["inner", "outer"]);
  expect(graph().usersOf("b")).toEqual(["inner"]);
  expect(graph().allUsersOf("b")).toEqual(["inner", "outer"]);
  expect(graph().allUsersOf("c")).toEqual(["other"]);
});

test("what is deleted, or is no ensemble any more, uses nothing", () => {
  const made = graph();
  made.delete("outer");
  made.set("other", []);
  expect([made.usersOf("a"), made.usersOf("c"), made.stepsOf("outer")]).toEqual([
    ["inner"],
    [],
    [],
  ]);
});

test("a circle does not keep the search from ending", () => {
  const made = new EnsembleGraph();
  made.set("x", ["y"]);
  made.set("y", ["x"]);
  expect(made.allUsersOf("x")).toEqual(["y", "x"]);
});
