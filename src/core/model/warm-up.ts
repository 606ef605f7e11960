import { InferenceError } from "../../base/error.ts";
import type { ModelInstance } from "../instance/model-instance.ts";
import type { Batch } from "../request/batch.ts";
import { InferenceRequest } from "../request/inference-request.ts";
import type { ResponseSink } from "../request/inference-response.ts";
import { BatchDelivery } from "../scheduler/deliver-batch.ts";
import type { SchedulerOptions } from "../scheduler/scheduler-options.ts";
import { checkInputBytes } from "./check-input-bytes.ts";
import { samplePlace, type WarmUpSample } from "./warm-up-samples.ts";

/**
 * Runs `model_warmup` on every instance, passive ones included, before the model is READY. The executions go the way
 * of all others and are counted in the statistics, as Triton counts them.
 *
 * @param options of the model whose pool has no scheduler yet.
 * @throws InferenceError of the first sample that fails, naming it.
 */
export async function warmUp(
  samples: readonly WarmUpSample[],
  options: SchedulerOptions,
): Promise<void> {
  const runs = options.pool.instances.map(async (instance) => {
    for (const sample of samples) {
      for (let i = 0; i < sample.runCount; i++) await runSample(sample, instance, options);
    }
  });
  // All are waited for: a batch must not be under way when the instances are freed.
  for (const run of await Promise.allSettled(runs)) {
    if (run.status === "rejected") throw run.reason;
  }
}

/** One execution of a sample; resolves when it is over and each of its requests has its end. */
async function runSample(
  sample: WarmUpSample,
  instance: ModelInstance,
  options: SchedulerOptions,
): Promise<void> {
  const { clock } = options;
  const startedNs = clock.nowNs();
  let failure: InferenceError | undefined;
  const sink: ResponseSink = {
    onResponse: () => undefined,
    onError: (error) => {
      failure ??= error;
    },
    onComplete: () => undefined,
  };
  const batch = batchOf(sample, sink, startedNs, options.config.name);
  const over = Promise.withResolvers<void>();
  let openCount = batch.requests.length + 1;
  const ended = (): void => {
    openCount -= 1;
    if (openCount === 0) over.resolve();
  };
  const delivery: BatchDelivery = new BatchDelivery(options, ended, (request) => {
    // An iterative model wants to go on; that it has begun is enough.
    delivery.complete(request);
  });
  instance.execute(
    batch,
    (result) => {
      delivery.deliver(batch, result, startedNs);
      ended();
    },
    delivery,
  );
  await over.promise;
  if (failure === undefined) return;
  const text = `${samplePlace(sample.name, options.config.name)} failed: ${failure.message}`;
  throw new InferenceError(failure.code, text, { cause: failure });
}

function batchOf(
  sample: WarmUpSample,
  sink: ResponseSink,
  nowNs: number,
  modelName: string,
): Batch {
  const requests = Array.from({ length: sample.requestCount }, () => {
    const { signature, inputBytes } = sample;
    const request = new InferenceRequest({
      signature,
      id: "",
      inputBytes,
      sink,
      arrivalNs: nowNs,
    });
    request.validated = signature.validated;
    request.queueStartNs = nowNs;
    request.computeStartNs = nowNs;
    return request;
  });
  const [first] = requests;
  if (first?.validated !== undefined) checkInputBytes(first, first.validated, modelName);
  return { requests, rowCount: sample.requestCount };
}
