import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { ModelConfigSchema, ModelDynamicBatchingSchema } from "#gen/inference/model_config_pb.ts";
import { InferenceRequest } from "../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../src/core/request/request-signature.ts";
import { chooseScheduler } from "../../src/core/scheduler/choose-scheduler.ts";
import type { Scheduler } from "../../src/core/scheduler/scheduler.ts";
import { ModelCounters } from "../../src/core/statistics/model-counters.ts";
import { FakePool } from "./fake-pool.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingSink } from "./recording-sink.ts";
import { sampleConfig, sampleSignature } from "./sample-config.ts";

/** What a test of a scheduler sets. */
export interface SchedulerSetupFields {
  readonly batching?: MessageInitShape<typeof ModelDynamicBatchingSchema>;
  readonly maxBatchSize?: number;
  readonly instanceCount?: number;
  /** Batches that an instance may have; 1 where absent. */
  readonly capacity?: number;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Fields of one test request. */
export interface TestRequestFields {
  readonly id?: string;
  readonly batchSize?: number;
  readonly mergeKey?: string;
  readonly priority?: number;
  readonly timeoutMicroseconds?: number;
}

/** A request and what it was answered. */
export interface TestRequest {
  readonly request: InferenceRequest;
  readonly sink: RecordingSink;
}

/** A scheduler on a manual clock and instances that a test ends by hand. */
export class SchedulerSetup {
  readonly clock = new ManualClock();
  readonly statistics = new ModelCounters();
  readonly pool: FakePool;
  readonly scheduler: Scheduler;

  constructor(fields: SchedulerSetupFields = {}) {
    this.pool = new FakePool(fields.instanceCount ?? 1, fields.capacity);
    const base = sampleConfig({
      maxBatchSize: fields.maxBatchSize ?? 8,
      inputs: [{ name: "INPUT0", datatype: "INT32", dims: [4] }],
      outputs: [{ name: "OUTPUT0", datatype: "INT32", dims: [4] }],
    });
    const message = create(ModelConfigSchema, {
      name: base.name,
      schedulingChoice:
        fields.batching === undefined
          ? { case: undefined }
          : { case: "dynamicBatching", value: create(ModelDynamicBatchingSchema, fields.batching) },
    });
    const config = { ...base, message, parameters: fields.parameters ?? {} };
    this.scheduler = chooseScheduler({
      config,
      signature: sampleSignature(config),
      versionText: "1",
      pool: this.pool,
      clock: this.clock,
      statistics: this.statistics,
      classify: (output) => output,
    });
  }

  request(fields: TestRequestFields = {}): TestRequest {
    const sink = new RecordingSink();
    const signature = new RequestSignature({
      inputs: [],
      priority: fields.priority ?? 0,
      timeoutMicroseconds: fields.timeoutMicroseconds ?? 0,
    });
    const request = new InferenceRequest({
      signature,
      id: fields.id ?? "",
      inputBytes: [],
      sink,
      arrivalNs: this.clock.nowNs(),
    });
    request.validated = {
      model: this,
      batchSize: fields.batchSize ?? 1,
      inputOrder: [],
      backendShapes: [],
      expectedBytes: [],
      elementCounts: [],
      mergeKey: fields.mergeKey ?? "",
      outputIndexes: undefined,
    };
    return { request, sink };
  }

  /** Queues `count` like requests. */
  enqueue(count: number, fields: TestRequestFields = {}): TestRequest[] {
    return Array.from({ length: count }, () => {
      const made = this.request(fields);
      this.scheduler.enqueue(made.request);
      return made;
    });
  }
}

/** Lets what was put off to the end of the event loop's turn happen. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
