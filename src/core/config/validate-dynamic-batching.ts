import type {
  ModelConfig as ModelConfigMessage,
  ModelDynamicBatching,
  ModelQueuePolicy,
} from "#gen/inference/model_config_pb.ts";
import { ModelQueuePolicy_TimeoutAction } from "#gen/inference/model_config_pb.ts";
import type { ConfigFaults } from "./config-faults.ts";

/** Checks `dynamic_batching`. @see Triton docs, "Batchers", "Dynamic Batcher". */
export function checkDynamicBatching(
  message: ModelConfigMessage,
  batching: ModelDynamicBatching,
  faults: ConfigFaults,
): void {
  const { name, maxBatchSize } = message;
  for (const size of batching.preferredBatchSize) {
    faults.require(size > 0, () => `dynamic batching preferred size must be positive for ${name}`);
    faults.require(
      size <= maxBatchSize || size <= 0,
      () => `dynamic batching preferred size must be <= max batch size for ${name}`,
    );
  }
  const levels = batching.priorityLevels;
  if (levels > 0n) {
    const level = batching.defaultPriorityLevel;
    faults.require(
      level >= 1n && level <= levels,
      () => `default priority level must be in range [1, ${levels}] for ${name}`,
    );
  }
  for (const key of Object.keys(batching.priorityQueuePolicy)) {
    const level = BigInt(key);
    faults.require(
      level >= 1n && level <= levels,
      () => `priority queue policy must have priority level in range [1, ${levels}] for ${name}`,
    );
  }
  if (batching.preserveOrdering) checkOrdering(name, batching, faults);
}

/** Answers in the order of requests leave no room for anything that changes the order in the queue. */
function checkOrdering(name: string, batching: ModelDynamicBatching, faults: ConfigFaults): void {
  faults.require(
    batching.priorityLevels <= 1n,
    () => `Only one priority level is allowed when 'preserve_ordering' is true for ${name}`,
  );
  const policies = [batching.defaultQueuePolicy, ...Object.values(batching.priorityQueuePolicy)];
  faults.require(
    !policies.some(delays),
    () =>
      `Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`,
  );
}

/** Without a timeout the action never comes into play. */
function delays(policy: ModelQueuePolicy | undefined): boolean {
  return (
    policy?.timeoutAction === ModelQueuePolicy_TimeoutAction.DELAY &&
    policy.defaultTimeoutMicroseconds > 0n
  );
}
