import { InferenceError, inferenceErrorFrom } from "../../base/error.ts";
import type { ErrorNote } from "./host-link.ts";

/** What was thrown in one host, for the other side. */
export function errorNoteFrom(thrown: unknown): ErrorNote {
  const { code, reason, message } = inferenceErrorFrom(thrown);
  return { code, reason, message };
}

/** The error that a note stands for. */
export function errorFromNote(note: ErrorNote): InferenceError {
  return new InferenceError(note.code, note.message, { reason: note.reason });
}
