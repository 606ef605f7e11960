import { InferenceRequest } from "../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../src/core/request/request-signature.ts";
import { PendingEntry } from "../../src/core/scheduler/pending-queue.ts";
import { RecordingSink } from "./recording-sink.ts";

/** A request without inputs. */
export function bareRequest(): InferenceRequest {
  const signature = new RequestSignature({ inputs: [] });
  return new InferenceRequest({
    signature,
    id: "",
    inputBytes: [],
    sink: new RecordingSink(),
    arrivalNs: 0,
  });
}

/** A waiting request; what a test does not name has a plain value. */
export function pendingEntry(fields: Partial<PendingEntry> = {}): PendingEntry {
  const entry = new PendingEntry(bareRequest(), 0, 0, Number.POSITIVE_INFINITY);
  return Object.assign(entry, fields);
}
