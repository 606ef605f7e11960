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

/** An instance that takes work, and how many batches it has. */
interface Place {
  readonly instance: ModelInstance;
  batchCount: number;
}

/** The instances of one model version in their hosts. */
export class HostedPool implements InstancePool, InstanceHealthListener {
  readonly instances: readonly ModelInstance[];
  readonly activeInstances: readonly ModelInstance[];
  onFree: (() => void) | undefined = undefined;
  onLost: ((instance: ModelInstance, reason: InferenceError) => void) | undefined = undefined;
  onDown: ((reason: InferenceError) => void) | undefined = undefined;
  readonly #members: readonly PoolMember[];
  readonly #places: ReadonlyMap<ModelInstance, Place>;
  /** Ready and without a batch. The last one is taken first: its Worker is warm. */
  readonly #free: Place[] = [];
  /** Instances whose hosts start with the first request; an idle model costs one Worker. */
  #sleepers: readonly SupervisedInstance[];
  #disposal: Promise<void> | undefined;

  /** @param members in the order of the instance groups. */
  constructor(members: readonly PoolMember[]) {
    this.#members = members;
    this.instances = members.map(({ instance }) => instance);
    this.activeInstances = members.filter((m) => !m.isPassive).map(({ instance }) => instance);
    const places = this.activeInstances.map((instance): Place => ({ instance, batchCount: 0 }));
    this.#places = new Map(places.map((place) => [place.instance, place]));
    for (const { instance } of members) instance.health = this;
    this.#sleepers = members.map(({ instance }) => instance).filter((one) => one.isAsleep === true);
    const asleep = new Set<ModelInstance>(this.#sleepers);
    this.#free.push(...places.filter(({ instance }) => !asleep.has(instance)).toReversed());
  }

  get isHealthy(): boolean {
    for (const instance of this.activeInstances) if (instance.isReady) return true;
    return false;
  }

  get hasFree(): boolean {
    return this.#free.length > 0;
  }

  acquire(): ModelInstance | undefined {
    const place = this.#free.pop();
    if (place === undefined) return undefined;
    place.batchCount = 1;
    this.#wakeAll();
    return place.instance;
  }

  acquireAhead(): ModelInstance | undefined {
    let best: Place | undefined;
    for (const place of this.#places.values()) {
      const { instance, batchCount } = place;
      if (batchCount === 0 || batchCount >= instance.capacity || !instance.isReady) continue;
      if (best === undefined || batchCount < best.batchCount) best = place;
    }
    if (best === undefined) return undefined;
    best.batchCount += 1;
    return best.instance;
  }

  acquireInstance(instance: ModelInstance): boolean {
    const place = this.#takeFree(instance);
    if (place === undefined) return false;
    place.batchCount = 1;
    this.#wakeAll();
    return true;
  }

  release(instance: ModelInstance): void {
    const place = this.#places.get(instance);
    if (place === undefined) return;
    place.batchCount -= 1;
    if (place.batchCount === 0 && instance.isReady) this.#free.push(place);
  }

  onReady(instance: ModelInstance): void {
    const place = this.#places.get(instance);
    if (place === undefined) return;
    // One that still has a batch of before its crash is free when that is given back.
    if (place.batchCount === 0) this.#free.push(place);
    this.onFree?.();
  }

  onDownInstance(instance: ModelInstance, reason: InferenceError, restartFailed: boolean): void {
    this.#takeFree(instance);
    this.onLost?.(instance, reason);
    if (restartFailed && !this.isHealthy) this.onDown?.(reason);
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  #wakeAll(): void {
    if (this.#sleepers.length === 0) return;
    for (const sleeper of this.#sleepers) sleeper.wake?.();
    this.#sleepers = [];
  }

  #takeFree(instance: ModelInstance): Place | undefined {
    const at = this.#free.findLastIndex((place) => place.instance === instance);
    return at < 0 ? undefined : this.#free.splice(at, 1)[0];
  }

  async #dispose(): Promise<void> {
    this.#free.length = 0;
    for (const isOwner of [false, true]) {
      const members = this.#members.filter((member) => member.isOwner === isOwner);
      await Promise.all(members.map(({ instance }) => instance.dispose()));
    }
  }
}
