import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../src/base/error.ts";
import type { ModelCall } from "../../../src/core/instance/python/server-calls.ts";
import { ModelCalls } from "../../../src/core/model-calls.ts";
import { RequestSignature } from "../../../src/core/request/request-signature.ts";
import { CustomMetrics } from "../../../src/frontends/metrics/custom-metrics.ts";
import { eventually } from "../../support/eventually.ts";
import { InMemoryPlanes } from "../../support/in-memory-planes.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingSink } from "../../support/recording-sink.ts";

function setup() {
  const planes = new InMemoryPlanes();
  const clock = new ManualClock();
  return { planes, clock, calls: new ModelCalls(() => planes, clock, new CustomMetrics(true)) };
}

/** A call of `id_int32` with one element, where nothing else is said. */
function callOf(fields: Partial<ModelCall> = {}): ModelCall & { readonly sink: RecordingSink } {
  const sink = new RecordingSink();
  const input = { name: "INPUT0", datatype: "INT32", shape: [1] } as const;
  return {
    modelName: "id_int32",
    modelVersion: -1,
    isDecoupled: false,
    request: {
      signature: new RequestSignature({ inputs: [input] }),
      id: "42",
      inputBytes: [Uint8Array.of(7, 0, 0, 0)],
      sink,
    },
    ...fields,
    sink,
  };
}

describe("infer", () => {
  test("runs the newest version of another model, arriving now", async () => {
    const { calls, clock } = setup();
    const call = callOf();
    const request = calls.infer(call);
    expect(request.arrivalNs).toBe(clock.nowNs());
    await eventually(() => call.sink.endCount > 0);
    expect(call.sink.responses[0]?.outputs[0]?.bytes).toEqual(Uint8Array.of(7, 0, 0, 0));
  });

  test("an unknown model and an unknown version are refused in Triton's words", () => {
    const { calls } = setup();
    for (const call of [callOf({ modelName: "none" }), callOf({ modelVersion: 77 })]) {
      expect(() => calls.infer(call)).toThrow(
        `Model ${call.modelName} - Error when running inference: Failed for execute the inference request. Model '${call.modelName}' is not ready.`,
      );
      expect(call.sink.endCount).toBe(0);
    }
  });

  test("a decoupled model is refused to a call that takes one response", () => {
    const call = callOf({ modelName: "repeat" });
    expect(() => setup().calls.infer(call)).toThrow("call it with exec(decoupled=True)");
    expect(call.sink.endCount).toBe(0);
  });
});

describe("models", () => {
  test("load and unload go to the control plane, with only the overrides that were given", async () => {
    const { calls, planes } = setup();
    await calls.load("m", "", new Map());
    expect(planes.lastOverrides).toEqual({});
    const files = new Map([["1/model.py", Uint8Array.of(1)]]);
    await calls.load("m", "{}", files);
    expect(planes.lastOverrides).toEqual({ configJson: "{}", files });
    await calls.unload("m", true);
    expect(planes.controlCalls).toEqual(["load:m", "load:m", "unload:m:true"]);
  });

  test("a model that is not known is not ready; a fault of the server is no answer", async () => {
    const { calls, planes } = setup();
    expect(await calls.isReady("id_int32", "")).toBe(true);
    expect(await calls.isReady("none", "")).toBe(false);
    planes.isModelReady = () => {
      throw new InferenceError("INVALID_ARG", "a version that is no number");
    };
    expect(await calls.isReady("id_int32", "x")).toBe(false);
    planes.isModelReady = () => {
      throw new TypeError("broken");
    };
    await expect(calls.isReady("id_int32", "")).rejects.toThrow("broken");
  });
});
