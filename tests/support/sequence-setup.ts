import { executionSignatureFrom } from "../../src/core/backend/execution-signature.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import { modelConfigFromMessage } from "../../src/core/config/model-config-from.ts";
import type { JoinedOutput } from "../../src/core/instance/model-instance.ts";
import type { Batch } from "../../src/core/request/batch.ts";
import { InferenceRequest } from "../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../src/core/request/request-signature.ts";
import { chooseScheduler } from "../../src/core/scheduler/choose-scheduler.ts";
import type { Scheduler } from "../../src/core/scheduler/scheduler.ts";
import { ModelCounters } from "../../src/core/statistics/model-counters.ts";
import { configMessage } from "./config-texts.ts";
import { EMPTY_RESULT, type FakeInstance, FakePool } from "./fake-pool.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { RecordingSink } from "./recording-sink.ts";

/** What a test of sequences sets. */
export interface SequenceSetupFields {
  /** Inside of `sequence_batching { … }`. */
  readonly batching?: string;
  readonly maxBatchSize?: number;
  readonly instanceCount?: number;
}

/** One request of a sequence. */
export interface Step {
  readonly start?: boolean;
  readonly end?: boolean;
  readonly mergeKey?: string;
  readonly batchSize?: number;
  readonly timeoutMicroseconds?: number;
  readonly requestId?: string;
}

/** A request and what it was answered. */
export interface SentStep {
  readonly request: InferenceRequest;
  readonly sink: RecordingSink;
}

/** All four controls, of a type each. */
export const CONTROLS = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] } }
  control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }`;

/** A scheduler of sequences on a manual clock and instances that a test ends by hand. */
export class SequenceSetup {
  readonly clock = new ManualClock();
  readonly statistics = new ModelCounters();
  readonly logger = new RecordingLogger();
  readonly pool: FakePool;
  readonly scheduler: Scheduler;

  private constructor(config: ModelConfig, instanceCount: number) {
    this.pool = new FakePool(instanceCount);
    this.scheduler = chooseScheduler({
      config,
      signature: executionSignatureFrom(config),
      versionText: "1",
      pool: this.pool,
      clock: this.clock,
      statistics: this.statistics,
      classify: (output) => output,
      logger: this.logger,
    });
  }

  static async create(fields: SequenceSetupFields = {}): Promise<SequenceSetup> {
    const message = configMessage(`name: "m" backend: "sample"
      max_batch_size: ${fields.maxBatchSize ?? 0}
      input { name: "X" data_type: TYPE_INT32 dims: 1 }
      output { name: "Y" data_type: TYPE_INT32 dims: 1 }
      sequence_batching { max_sequence_idle_microseconds: 1000000 ${fields.batching ?? ""} }`);
    const config = await modelConfigFromMessage(message, "/nowhere");
    return new SequenceSetup(config, fields.instanceCount ?? 1);
  }

  /** A request that was not sent. */
  request(sequenceId: bigint | string, step: Step = {}): SentStep {
    const sink = new RecordingSink();
    const signature = new RequestSignature({
      inputs: [],
      sequenceId,
      sequenceStart: step.start ?? false,
      sequenceEnd: step.end ?? false,
      timeoutMicroseconds: step.timeoutMicroseconds ?? 0,
    });
    const request = new InferenceRequest({
      signature,
      id: step.requestId ?? "",
      inputBytes: [],
      sink,
      arrivalNs: this.clock.nowNs(),
    });
    request.validated = {
      model: this,
      batchSize: step.batchSize ?? 1,
      inputOrder: [],
      backendShapes: [],
      expectedBytes: [],
      elementCounts: [],
      mergeKey: step.mergeKey ?? "",
      outputIndexes: undefined,
    };
    return { request, sink };
  }

  send(sequenceId: bigint | string, step: Step = {}): SentStep {
    const sent = this.request(sequenceId, step);
    this.scheduler.enqueue(sent.request);
    return sent;
  }

  /** The batch on an instance; undefined when it is idle. */
  batch(instance = 0): Batch | undefined {
    return this.pool.instances[instance]?.running?.batch;
  }

  /** Ids of the sequences in the batch on an instance; 0n is padding. */
  ids(instance = 0): (bigint | string)[] | undefined {
    return this.batch(instance)?.requests.map(({ sequenceId }) => sequenceId);
  }

  /** An added input of the batch that runs, by its place behind the inputs of clients, one entry a request. */
  extra(place: number): number[][] | undefined {
    return this.batch()?.extras?.inputs[place]?.bytes.map((bytes) => [...bytes]);
  }

  /** Ends the batch on an instance. */
  finish(instance = 0, outputs: readonly JoinedOutput[] = []): Batch {
    return this.#instance(instance).finish({ ...EMPTY_RESULT, outputs });
  }

  /** Ends the batch on an instance that answers by itself; these requests are to run again. */
  finishAgain(rescheduled: readonly InferenceRequest[], instance = 0): Batch {
    const own = this.#instance(instance);
    const { answers, batch } = own.running ?? {};
    for (const request of batch?.requests ?? []) {
      if (rescheduled.includes(request)) answers?.reschedule(request);
      else answers?.complete(request);
    }
    return own.finish({ ...EMPTY_RESULT, isAnsweredByInstance: true });
  }

  #instance(index: number): FakeInstance {
    const instance = this.pool.instances[index];
    if (instance === undefined) throw new RangeError(`there is no instance ${index}`);
    return instance;
  }
}
