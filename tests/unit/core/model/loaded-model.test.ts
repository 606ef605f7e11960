import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { LoadedModel } from "../../../../src/core/model/loaded-model.ts";
import { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../../../src/core/request/request-signature.ts";
import { ModelCounters } from "../../../../src/core/statistics/model-counters.ts";
import { FakeInstanceHosts, FakePool } from "../../../support/fake-instance-hosts.ts";
import { RecordingSink } from "../../../support/recording-sink.ts";
import { sampleConfig, sampleSignature } from "../../../support/sample-config.ts";
import { StubModel } from "../../../support/stub-model.ts";

const CONFIG = sampleConfig({
  maxBatchSize: 4,
  inputs: [{ name: "X", datatype: "FP32", dims: [2] }],
  outputs: [{ name: "Y", datatype: "FP32", dims: [2] }],
});

function loaded(freed: string[] = []) {
  const executionSignature = sampleSignature(CONFIG);
  const pool = new FakePool(new FakeInstanceHosts(), CONFIG, executionSignature);
  const scheduler = new StubModel("m", 1);
  const resources = new AsyncDisposableStack();
  for (const name of ["files", "session", "pool", "scheduler"]) {
    resources.defer(() => {
      freed.push(name);
    });
  }
  const statistics = new ModelCounters();
  const fields = {
    config: CONFIG,
    executionSignature,
    scheduler,
    statistics,
    health: pool,
    resources,
  };
  const model = new LoadedModel({ version: 1, loadDurationNs: 5, ...fields });
  return { model, scheduler, pool };
}

function requestOf(signature: RequestSignature, byteLength = 8): InferenceRequest {
  const inputBytes = [new Uint8Array(byteLength)];
  return new InferenceRequest({
    signature,
    id: "",
    inputBytes,
    sink: new RecordingSink(),
    arrivalNs: 0,
  });
}

const signatureOf = (shape: readonly number[]) =>
  new RequestSignature({ inputs: [{ name: "X", datatype: "FP32", shape }] });

describe("submit", () => {
  test("hands a request that fits to the scheduler, with what validation found", () => {
    const { model, scheduler } = loaded();
    const request = requestOf(signatureOf([1, 2]));
    model.submit(request);
    expect(scheduler.submitted).toEqual([request]);
    expect(request.validated?.batchSize).toBe(1);
    expect(request.validated?.model).toBe(model);
  });

  test("checks a signature once, and the bytes each time", () => {
    const { model, scheduler } = loaded();
    const signature = signatureOf([1, 2]);
    model.submit(requestOf(signature));
    const first = signature.validated;
    model.submit(requestOf(signature));
    expect(signature.validated).toBe(first);
    expect(() => model.submit(requestOf(signature, 4))).toThrow("Expected 8, got 4");
    expect(scheduler.submitted).toHaveLength(2);
  });

  test("does not take another model's word for a signature", () => {
    const signature = signatureOf([1, 2]);
    const [first, second] = [loaded(), loaded()];
    first.model.submit(requestOf(signature));
    second.model.submit(requestOf(signature));
    expect(signature.validated?.model).toBe(second.model);
  });

  test("refuses what does not fit, without touching scheduler or sink", () => {
    const { model, scheduler } = loaded();
    const request = requestOf(signatureOf([1, 3]));
    expect(() => model.submit(request)).toThrow(InferenceError);
    expect(scheduler.submitted).toEqual([]);
    expect((request.sink as RecordingSink).endCount).toBe(0);
    expect(request.signature.validated).toBeUndefined();
  });
});

test("a model is as healthy as its instances", () => {
  const { model, pool } = loaded();
  expect(model.isHealthy).toBe(true);
  pool.isHealthy = false;
  expect(model.isHealthy).toBe(false);
});

test("the end frees everything once, the newest first", async () => {
  const freed: string[] = [];
  const { model } = loaded(freed);
  await Promise.all([model.dispose(), model.dispose()]);
  expect(freed).toEqual(["scheduler", "pool", "session", "files"]);
});
