import { expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { errorFromNote, errorNoteFrom } from "../../../../src/core/instance/error-note.ts";

test("an error crosses to the other side with code, reason and text", () => {
  const error = new InferenceError("UNAVAILABLE", "no room", { reason: "REJECTED" });
  const note = structuredClone(errorNoteFrom(error));
  expect(errorFromNote(note)).toMatchObject({
    code: "UNAVAILABLE",
    reason: "REJECTED",
    message: "no room",
  });
});

test("what is no error of ours arrives as INTERNAL with its text", () => {
  expect(errorFromNote(errorNoteFrom(new TypeError("x is not a function")))).toMatchObject({
    code: "INTERNAL",
    message: "unexpected error: x is not a function",
  });
});
