/** How many requests one priority level may hold and how long they may wait; `ModelQueuePolicy` of the configuration. */
export interface QueuePolicy {
  /** 0 = no limit. */
  readonly maxQueueSize: number;
  /** 0 = none. */
  readonly defaultTimeoutNs: number;
  /** REJECT fails an expired request, DELAY lets it wait behind all others of its level. */
  readonly timeoutAction: "REJECT" | "DELAY";
  /** Whether a request's own `timeout` may shorten the default. */
  readonly allowsTimeoutOverride: boolean;
}

/** No limits. */
export const UNLIMITED: QueuePolicy = {
  maxQueueSize: 0,
  defaultTimeoutNs: 0,
  timeoutAction: "REJECT",
  allowsTimeoutOverride: false,
};

/** Whether a request under this policy can neither be refused nor expire. */
export function isUnlimited(policy: QueuePolicy): boolean {
  return policy.maxQueueSize === 0 && policy.defaultTimeoutNs === 0;
}

const NS_PER_MICROSECOND = 1000;

/**
 * When a request queued now expires; Infinity where it does not. A request's timeout only shortens a default: it has
 * no effect where there is none.
 */
export function deadlineNs(
  policy: QueuePolicy,
  timeoutMicroseconds: number,
  nowNs: number,
): number {
  let timeoutNs = policy.defaultTimeoutNs;
  const ownNs = timeoutMicroseconds * NS_PER_MICROSECOND;
  if (policy.allowsTimeoutOverride && ownNs > 0 && ownNs < timeoutNs) timeoutNs = ownNs;
  return timeoutNs === 0 ? Number.POSITIVE_INFINITY : nowNs + timeoutNs;
}
