import { InferenceError } from "../../base/error.ts";

/** What a scheduler says to new requests once it has stopped. */
export function stoppingError(): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    "Server is stopping, scheduler for model has stopped accepting new inference requests",
  );
}
