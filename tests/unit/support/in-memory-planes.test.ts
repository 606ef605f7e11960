import { describe, expect, test } from "bun:test";
import type { InferenceError } from "../../../src/base/error.ts";
import { InferenceRequest } from "../../../src/core/request/inference-request.ts";
import type { InferenceResponse } from "../../../src/core/request/inference-response.ts";
import { RequestSignature } from "../../../src/core/request/request-signature.ts";
import { InMemoryPlanes } from "../../support/in-memory-planes.ts";
import { HeldModel } from "../../support/sample-models.ts";

function ask(planes: InMemoryPlanes, modelName: string, values: number[]) {
  const events: string[] = [];
  let response: InferenceResponse | undefined;
  const request = new InferenceRequest({
    signature: new RequestSignature({
      inputs: [{ name: "INPUT0", datatype: "INT32", shape: [values.length] }],
    }),
    id: "7",
    inputBytes: [new Uint8Array(new Int32Array(values).buffer)],
    arrivalNs: 0,
    sink: {
      onResponse(value, isFinal) {
        response = value;
        events.push(`response ${isFinal}`);
      },
      onError(error: InferenceError, isFinal) {
        events.push(`${error.code} ${isFinal}`);
      },
      onComplete: () => events.push("complete"),
    },
  });
  planes.infer(planes.model(modelName, ""), request);
  return { request, events, response: () => response };
}

describe("the planes in memory", () => {
  test("answer an inference after infer has returned", async () => {
    const { events, response } = ask(new InMemoryPlanes(), "id_int32", [1, 2]);
    expect(events).toEqual([]);
    await Bun.sleep(0);
    expect(events).toEqual(["response true"]);
    expect(response()?.outputs[0]?.shape).toEqual([2]);
  });

  test("end a cancelled request with CANCELLED, once, and count it", async () => {
    const planes = new InMemoryPlanes();
    const model = planes.add(new HeldModel("held"));
    const { request, events } = ask(planes, "held", [1]);
    await Bun.sleep(0);
    request.cancel();
    request.cancel();
    await Bun.sleep(0);
    model.release();
    expect(events).toEqual(["CANCELLED true"]);
    expect(model.statistics.snapshot().failuresByReason.CANCELED).toBe(1);
    expect(planes.inflightCount).toBe(0);
  });

  test("pass on what a model throws", async () => {
    const { events } = ask(new InMemoryPlanes(), "failing", [1]);
    await Bun.sleep(0);
    expect(events).toEqual(["INTERNAL true"]);
  });
});
