import type { InferenceError } from "../../base/error.ts";
import type { ModelInstance } from "./model-instance.ts";

/** Told about an instance's health; set by the pool. */
export interface InstanceHealthListener {
  /** It is ready again. */
  onReady(instance: ModelInstance): void;
  /** It went down, or a restart failed; restarts go on. */
  onDownInstance(instance: ModelInstance, reason: InferenceError, restartFailed: boolean): void;
}

/** An instance that comes back by itself after a crash, and says so. */
export interface SupervisedInstance extends ModelInstance {
  health: InstanceHealthListener | undefined;
  /** True until `wake`, for an instance whose host is started when it is first needed. */
  readonly isAsleep?: boolean;
  /** Starts the host of an instance that sleeps; `health` is told when it is ready. Does nothing otherwise. */
  wake?(): void;
}
