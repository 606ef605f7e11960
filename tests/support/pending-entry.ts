import { InferenceRequest } from "../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../src/core/request/request-signature.ts";
import type { PendingEntry } from "../../src/core/scheduler/pending-queue.ts";
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
  return {
    request: bareRequest(),
    batchSize: 1,
    mergeKey: "",
    level: 0,
    queuedNs: 0,
    deadlineNs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    previous: undefined,
    next: undefined,
    list: undefined,
    ...fields,
  };
}
