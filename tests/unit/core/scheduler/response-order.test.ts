import { describe, expect, test } from "bun:test";
import type { ExecutionResult } from "../../../../src/core/instance/model-instance.ts";
import { NO_PARAMETERS } from "../../../../src/core/request/request-signature.ts";
import { OrderedAnswers, ResponseOrder } from "../../../../src/core/scheduler/response-order.ts";
import { bareRequest } from "../../../support/pending-entry.ts";

function resultOf(bytes: Uint8Array): ExecutionResult {
  return {
    error: undefined,
    outputs: [{ index: 0, datatype: "UINT8", shape: [bytes.length], bytes }],
    requestErrors: new Map(),
    sharedParameters: NO_PARAMETERS,
    requestParameters: new Map(),
    computeInputNs: 0,
    computeInferNs: 0,
    computeOutputNs: 0,
  };
}

function opened(count: number) {
  const order = new ResponseOrder();
  const requests = Array.from({ length: count }, bareRequest);
  for (const request of requests) order.opened(request);
  const delivered: string[] = [];
  const deliver = (at: readonly number[], bytes = new Uint8Array([at[0] ?? 0])) => {
    const batch = { requests: requests.filter((_, i) => at.includes(i)), rowCount: at.length };
    order.deliver(batch, resultOf(bytes), ({ outputs }) =>
      delivered.push(`${at.join("+")}:${outputs[0]?.bytes.join()}`),
    );
  };
  return { order, requests, deliver, delivered };
}

describe("ResponseOrder", () => {
  test("holds a batch back until those before it have left", () => {
    const { deliver, delivered } = opened(4);
    deliver([3]);
    deliver([1, 2]);
    expect(delivered).toEqual([]);
    deliver([0]);
    expect(delivered).toEqual(["0:0", "1+2:1", "3:3"]);
  });

  test("keeps the bytes of a held batch although its instance writes others", () => {
    const { deliver, delivered } = opened(2);
    const bytes = new Uint8Array([7]);
    deliver([1], bytes);
    bytes[0] = 8;
    deliver([0]);
    expect(delivered).toEqual(["0:0", "1:7"]);
  });

  test("goes on when a request leaves without running", () => {
    const { order, requests, deliver, delivered } = opened(2);
    deliver([1]);
    const [first] = requests;
    if (first) order.abandoned(first);
    expect(delivered).toEqual(["1:1"]);
  });

  test("gives the answers of instances that answer by themselves in the order of the requests", () => {
    const { order, requests } = opened(2);
    const given: string[] = [];
    const answers = new OrderedAnswers(order, {
      respond: (_request, outputs, _parameters, isFinal) =>
        given.push(`${outputs[0]?.bytes.join()}${isFinal ? " final" : ""}`),
      fail: (_request, error) => given.push(error.message),
      complete: () => given.push("complete"),
      reschedule: () => given.push("again"),
    });
    const [first, second] = requests;
    if (first === undefined || second === undefined) throw new Error("two requests are open");
    const bytes = new Uint8Array([1]);
    const tensor = { name: "O", datatype: "UINT8" as const, shape: [1], bytes };
    answers.respond(second, [tensor], NO_PARAMETERS, false);
    bytes[0] = 2;
    answers.complete(second);
    expect(given).toEqual([]);
    answers.respond(first, [tensor], NO_PARAMETERS, true);
    expect(given).toEqual(["2 final", "1", "complete"]);
  });
});
