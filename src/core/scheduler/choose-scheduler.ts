import { InferenceError } from "../../base/error.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { QueuePolicy } from "./queue-policy.ts";
import { UNLIMITED } from "./queue-policy.ts";
import { QueuedScheduler, type QueueRules } from "./queued-scheduler.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import { SequenceScheduler } from "./sequence-scheduler.ts";

type SchedulingChoice = ModelConfig["message"]["schedulingChoice"];
type DynamicBatching = Extract<SchedulingChoice, { case: "dynamicBatching" }>["value"];
type ModelQueuePolicy = NonNullable<DynamicBatching["defaultQueuePolicy"]>;

/** `ModelQueuePolicy.TimeoutAction` of model_config.proto. */
const TIMEOUT_ACTION_DELAY = 1;

const NS_PER_MICROSECOND = 1000;

/**
 * The scheduler that a configuration asks for: dynamic batching, sequences, or each request by itself. Ensembles have
 * no instances and get theirs where they are loaded (`ensemble-scheduler.ts`).
 */
export function chooseScheduler(options: SchedulerOptions): Scheduler {
  const { schedulingChoice } = options.config.message;
  switch (schedulingChoice.case) {
    case undefined:
      return new QueuedScheduler(options, DIRECT_RULES);
    case "dynamicBatching":
      return new QueuedScheduler(options, dynamicRules(schedulingChoice.value, options));
    case "sequenceBatching":
      return sequenceScheduler(options);
    case "ensembleScheduling":
      throw new InferenceError(
        "INTERNAL",
        `ensemble '${options.config.name}' has no instances: its steps' models have`,
      );
    default:
      return schedulingChoice satisfies never;
  }
}

function sequenceScheduler(options: SchedulerOptions): SequenceScheduler {
  const { sequenceBatching, name } = options.config;
  if (sequenceBatching !== undefined) return new SequenceScheduler(options, sequenceBatching);
  throw new InferenceError("INTERNAL", `model '${name}': sequence_batching was not read`);
}

/** Without a scheduler in the configuration each request is an execution of its own, whatever its batch size. */
const DIRECT_RULES: QueueRules = {
  batch: { maxBatchSize: 1, preferredBatchSizes: [], maxQueueDelayNs: 0 },
  policies: [UNLIMITED],
  defaultPriorityLevel: 1,
  preservesOrdering: false,
  isWorkConserving: false,
};

function dynamicRules(batching: DynamicBatching, options: SchedulerOptions): QueueRules {
  const { config } = options;
  const maxBatchSize = Math.max(1, config.maxBatchSize);
  const levelCount = Math.max(1, Number(batching.priorityLevels));
  const defaultPolicy = policyFrom(batching.defaultQueuePolicy);
  const policies = Array.from({ length: levelCount }, (_, i) => {
    const own = batching.priorityQueuePolicy[String(i + 1)];
    return own === undefined ? defaultPolicy : policyFrom(own);
  });
  return {
    batch: {
      maxBatchSize,
      preferredBatchSizes: [...batching.preferredBatchSize].sort((a, b) => a - b),
      maxQueueDelayNs: Number(batching.maxQueueDelayMicroseconds) * NS_PER_MICROSECOND,
    },
    policies,
    defaultPriorityLevel: Math.max(1, Number(batching.defaultPriorityLevel)),
    preservesOrdering: batching.preserveOrdering,
    isWorkConserving: config.parameters["work_conserving"] === "true",
  };
}

function policyFrom(policy: ModelQueuePolicy | undefined): QueuePolicy {
  if (policy === undefined) return UNLIMITED;
  return {
    maxQueueSize: policy.maxQueueSize,
    defaultTimeoutNs: Number(policy.defaultTimeoutMicroseconds) * NS_PER_MICROSECOND,
    timeoutAction: policy.timeoutAction === TIMEOUT_ACTION_DELAY ? "DELAY" : "REJECT",
    allowsTimeoutOverride: policy.allowTimeoutOverride,
  };
}
