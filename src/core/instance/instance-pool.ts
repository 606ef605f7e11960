import type { InferenceError } from "../../base/error.ts";
import type { ModelInstance } from "./model-instance.ts";

/**
 * The instances of one model version, and which of them are free. Its scheduler is the only one that takes and gives
 * back. Main thread only.
 */
export interface InstancePool {
  /** All instances, passive ones included, in the order of the configuration's groups. */
  readonly instances: readonly ModelInstance[];
  /** Those of them that take work. */
  readonly activeInstances: readonly ModelInstance[];
  /** True while at least one instance that takes work is ready. */
  readonly isHealthy: boolean;
  /** Asks the model itself whether it can serve (Python's `is_ready`); absent where no model has a say. */
  checkReady?(): Promise<boolean>;
  /** Whether {@link acquire} would give an instance. */
  readonly hasFree: boolean;
  /** A ready instance without a batch, for one batch of the caller's; undefined when there is none. */
  acquire(): ModelInstance | undefined;
  /**
   * A ready instance that has batches but room for another one, which then waits there for its turn; the one with the
   * fewest. undefined when there is none.
   */
  acquireAhead(): ModelInstance | undefined;
  /** Takes one instance, if it is ready and without a batch. @returns whether it now belongs to the caller. */
  acquireInstance(instance: ModelInstance): boolean;
  /**
   * A batch is over: gives back what one call of `acquire…` gave. An instance that is no longer ready comes back by
   * itself once it is.
   */
  release(instance: ModelInstance): void;
  /** Set by the scheduler: told when an instance became free by itself (it was restarted). */
  onFree: (() => void) | undefined;
  /** Set by the scheduler: told when an instance went down, and with it what it remembered of sequences. */
  onLost: ((instance: ModelInstance, reason: InferenceError) => void) | undefined;
  /**
   * Set by the scheduler: told when no instance is ready and a restart has failed, so that nobody waits for ever.
   * Restarts go on.
   */
  onDown: ((reason: InferenceError) => void) | undefined;
  /** Waits for running batches, then frees instances, sessions and hosts in reverse order of creation. Idempotent. */
  dispose(): Promise<void>;
}
