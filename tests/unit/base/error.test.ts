import { expect, test } from "bun:test";
import { InferenceError, inferenceErrorFrom } from "../../../src/base/error.ts";

test("an error keeps its code, its reason and its cause", () => {
  const cause = new Error("from below");
  const error = new InferenceError("UNAVAILABLE", "queue is full", { cause, reason: "REJECTED" });
  expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "REJECTED", cause });
  expect(error).toBeInstanceOf(Error);
});

test("the reason is OTHER, and there is no cause, where nothing is said", () => {
  const error = new InferenceError("INTERNAL", "x");
  expect(error.reason).toBe("OTHER");
  expect(Object.hasOwn(error, "cause")).toBe(false);
});

test("the status text starts with Triton's word for the code", () => {
  expect(new InferenceError("INVALID_ARG", "bad shape").statusText).toBe(
    "Invalid argument: bad shape",
  );
  expect(new InferenceError("NOT_FOUND", "m").statusText).toBe("Not found: m");
});

test("an unexpected exception becomes INTERNAL with its text, ours stay as they are", () => {
  const ours = new InferenceError("NOT_FOUND", "m");
  expect(inferenceErrorFrom(ours)).toBe(ours);
  const thrown = new TypeError("x is undefined");
  expect(inferenceErrorFrom(thrown)).toMatchObject({
    code: "INTERNAL",
    message: "unexpected error: x is undefined",
    cause: thrown,
  });
  expect(inferenceErrorFrom("text").message).toBe("unexpected error: text");
});
