import type { InferenceError } from "../../base/error.ts";
import type { InstanceHealthListener, SupervisedInstance } from "./instance-health.ts";
import type { InstancePool } from "./instance-pool.ts";
import type { ModelInstance } from "./model-instance.ts";

/** An instance and whether the scheduler may have it. */
export interface PoolMember {
  readonly instance: SupervisedInstance;
  /** Passive instances exist but get no requests (`instance_group.passive`). */
  readonly isPassive: boolean;
  /** Its host owns the session that the others share, so it goes last. */
  readonly isOwner: boolean;
}

/** The instances of one model version in their hosts. */
export class HostedPool implements InstancePool, InstanceHealthListener {
  readonly instances: readonly ModelInstance[];
  readonly activeInstances: readonly ModelInstance[];
  onFree: (() => void) | undefined = undefined;
  onLost: ((instance: ModelInstance, reason: InferenceError) => void) | undefined = undefined;
  onDown: ((reason: InferenceError) => void) | undefined = undefined;
  readonly #members: readonly PoolMember[];
  readonly #active: ReadonlySet<ModelInstance>;
  /** Ready and without a batch. The last one is taken first: its Worker is warm. */
  readonly #free: ModelInstance[] = [];
  #disposal: Promise<void> | undefined;

  /** @param members in the order of the instance groups. */
  constructor(members: readonly PoolMember[]) {
    this.#members = members;
    this.instances = members.map(({ instance }) => instance);
    this.activeInstances = members.filter((m) => !m.isPassive).map(({ instance }) => instance);
    this.#active = new Set(this.activeInstances);
    for (const { instance } of members) instance.health = this;
    this.#free.push(...this.activeInstances.toReversed());
  }

  get isHealthy(): boolean {
    for (const instance of this.#active) if (instance.isReady) return true;
    return false;
  }

  get hasFree(): boolean {
    return this.#free.length > 0;
  }

  acquire(): ModelInstance | undefined {
    return this.#free.pop();
  }

  acquireInstance(instance: ModelInstance): boolean {
    const at = this.#free.lastIndexOf(instance);
    if (at < 0) return false;
    this.#free.splice(at, 1);
    return true;
  }

  release(instance: ModelInstance): void {
    if (instance.isReady && this.#active.has(instance)) this.#free.push(instance);
  }

  onReady(instance: ModelInstance): void {
    if (!this.#active.has(instance)) return;
    this.#free.push(instance);
    this.onFree?.();
  }

  onDownInstance(instance: ModelInstance, reason: InferenceError, restartFailed: boolean): void {
    const at = this.#free.indexOf(instance);
    if (at >= 0) this.#free.splice(at, 1);
    this.onLost?.(instance, reason);
    if (restartFailed && !this.isHealthy) this.onDown?.(reason);
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    this.#free.length = 0;
    for (const isOwner of [false, true]) {
      const members = this.#members.filter((member) => member.isOwner === isOwner);
      await Promise.all(members.map(({ instance }) => instance.dispose()));
    }
  }
}
