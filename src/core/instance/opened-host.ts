import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Device, OpenModelOptions } from "../backend/backend.ts";
import type { BackendCancel } from "../backend/backend-instance.ts";
import type { ExecutionSignature, ModelReport } from "../backend/backend-model.ts";
import { configToBytes } from "../config/config-bytes.ts";
import { type InstancePlan, instancePlansFrom } from "../config/instance-plan.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { HostClient } from "./host-client.ts";
import type { HostHome } from "./host-link.ts";
import { HostedInstance, type StartedInstance } from "./hosted-instance.ts";
import { HostedPool, type PoolMember } from "./hosted-pool.ts";
import type { OpenedModel } from "./instance-hosts.ts";
import type { InstancePool } from "./instance-pool.ts";

/** What all hosts of one server share. */
export interface HostSurroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How one version of a model is opened in a host. */
export interface OpenRecipe {
  readonly backend: string;
  readonly options: OpenModelOptions;
  readonly home: HostHome;
  readonly cancel: BackendCancel | undefined;
}

/**
 * Starts a host and opens a model in it.
 * @throws InferenceError with the backend's words; the host is then gone.
 */
export async function openHost(
  recipe: OpenRecipe,
  options: OpenModelOptions,
  logger: Logger,
): Promise<{ readonly client: HostClient; readonly report: ModelReport }> {
  const client = new HostClient(await recipe.home.start(), logger);
  try {
    return { client, report: await client.open(recipe.backend, options) };
  } catch (error) {
    await client.dispose();
    throw error;
  }
}

/** A model opened in its first host, from which a pool of instances can be made. */
export class OpenedHost implements OpenedModel {
  readonly report: ModelReport;
  readonly #recipe: OpenRecipe;
  readonly #surroundings: HostSurroundings;
  /** Told once, when the first host is no longer this object's. */
  readonly #onHandedOver: (opened: OpenedHost) => void;
  /** undefined once the pool has it, or it was freed. */
  #client: HostClient | undefined;

  constructor(
    recipe: OpenRecipe,
    surroundings: HostSurroundings,
    opened: { readonly client: HostClient; readonly report: ModelReport },
    onHandedOver: (opened: OpenedHost) => void,
  ) {
    this.#onHandedOver = onHandedOver;
    this.#recipe = recipe;
    this.#surroundings = surroundings;
    this.#client = opened.client;
    this.report = opened.report;
  }

  async createPool(config: ModelConfig, signature: ExecutionSignature): Promise<InstancePool> {
    const first = this.#takeClient();
    if (first === undefined) throw new Error("createPool after the model was handed over or freed");
    const binary = configToBytes(config.message);
    const planned = instancePlansFrom(config.message);
    const ownerIndex = planned.findIndex((one) => this.#isOwnDevice(one.device));
    if (ownerIndex < 0) await first.dispose();
    const isSharing = ownerIndex >= 0;
    // Warm-up runs on every instance, so then every instance has to be there.
    const mayWait = isSharing && config.message.modelWarmup.length === 0;
    const attempts = await Promise.allSettled(
      planned.map((instance, i) => {
        if (i === ownerIndex) return makeInstance(first, instance.name, signature, binary);
        if (mayWait && this.#sharedHandleFor(instance) !== undefined) return undefined;
        return this.#startAnother(instance, signature, binary, isSharing);
      }),
    );
    const members: PoolMember[] = [];
    for (const [i, instance] of planned.entries()) {
      const attempt = attempts[i];
      if (attempt?.status !== "fulfilled") continue;
      members.push({
        instance: this.#hostedInstance(instance, signature, binary, attempt.value),
        isPassive: instance.isPassive,
        isOwner: i === ownerIndex,
      });
    }
    const pool = new HostedPool(members);
    const failed = attempts.find((attempt) => attempt.status === "rejected");
    if (failed === undefined) return pool;
    await pool.dispose();
    await first.dispose();
    throw failed.reason;
  }

  async dispose(): Promise<void> {
    await this.#takeClient()?.dispose();
  }

  #takeClient(): HostClient | undefined {
    const client = this.#client;
    if (client !== undefined) this.#onHandedOver(this);
    this.#client = undefined;
    return client;
  }

  /** @param isSharing whether the first host keeps the model open for as long as the others live. */
  async #startAnother(
    instance: InstancePlan,
    signature: ExecutionSignature,
    config: Uint8Array,
    isSharing: boolean,
  ): Promise<StartedInstance> {
    const sharedHandle = isSharing ? this.#sharedHandleFor(instance) : undefined;
    const client = await this.#openAnother(instance.device, sharedHandle);
    try {
      return await makeInstance(client, instance.name, signature, config);
    } catch (error) {
      await client.dispose();
      throw error;
    }
  }

  /** The first host's session, where an instance can share it: starting one then takes no more than a Worker. */
  #sharedHandleFor(instance: InstancePlan): number | undefined {
    const mayShare = this.#recipe.home.sharesProcess && this.#isOwnDevice(instance.device);
    return mayShare ? this.report.sharedHandle : undefined;
  }

  #isOwnDevice(device: Device): boolean {
    const own = this.#recipe.options.device;
    return device.kind === own.kind && device.id === own.id;
  }

  async #openAnother(device: Device, sharedHandle: number | undefined): Promise<HostClient> {
    const options = { ...this.#recipe.options, device, sharedHandle };
    const { client } = await openHost(this.#recipe, options, this.#surroundings.logger);
    return client;
  }

  #hostedInstance(
    instance: InstancePlan,
    signature: ExecutionSignature,
    config: Uint8Array,
    started: StartedInstance | undefined,
  ): HostedInstance {
    const { options, home, cancel } = this.#recipe;
    return new HostedInstance(
      {
        modelName: options.modelName,
        name: instance.name,
        signature,
        slabs: home.slabs,
        clock: this.#surroundings.clock,
        logger: this.#surroundings.logger,
        start: () => this.#startAnother(instance, signature, config, true),
        // A fresh host opens the model for itself: the one whose session was shared may be the one that crashed.
        restart: () => this.#startAnother(instance, signature, config, false),
        cancel: home.sharesProcess ? cancel : undefined,
      },
      started,
    );
  }
}

async function makeInstance(
  client: HostClient,
  name: string,
  signature: ExecutionSignature,
  config: Uint8Array,
): Promise<StartedInstance> {
  return { client, cancelHandle: await client.createInstance(name, signature, config) };
}
