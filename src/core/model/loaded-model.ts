import type { ExecutionSignature } from "../backend/backend-model.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { ModelStatistics } from "../statistics/model-statistics.ts";
import { checkInputBytes } from "./check-input-bytes.ts";
import type { Model } from "./model.ts";
import { RequestValidator } from "./validate-request.ts";

/** What a model's instances, or the steps of an ensemble, say about its state. */
export interface ModelHealth {
  readonly isHealthy: boolean;
  /** See {@link Model.isStale}. */
  readonly isStale?: boolean;
  /** See {@link Model.checkReady}. */
  checkReady?(): Promise<boolean>;
}

/** What a {@link LoadedModel} is made of. */
export interface LoadedModelFields {
  readonly version: number;
  readonly config: ModelConfig;
  readonly executionSignature: ExecutionSignature;
  readonly scheduler: Scheduler;
  readonly statistics: ModelStatistics;
  readonly loadDurationNs: number;
  readonly health: ModelHealth;
  /** Everything that `dispose` frees, the newest first. The model owns it from now on. */
  readonly resources: AsyncDisposableStack;
}

/** One version of a model whose instances run, or of an ensemble whose steps do. */
export class LoadedModel implements Model {
  readonly name: string;
  readonly version: number;
  readonly versionText: string;
  readonly executionSignature: ExecutionSignature;
  readonly scheduler: Scheduler;
  readonly statistics: ModelStatistics;
  readonly loadDurationNs: number;
  #config: ModelConfig;
  readonly #health: ModelHealth;
  readonly #resources: AsyncDisposableStack;
  readonly #validator: RequestValidator;
  #holdCount = 0;
  readonly #released = Promise.withResolvers<void>();
  #end: Promise<void> | undefined;

  constructor(fields: LoadedModelFields) {
    this.name = fields.config.name;
    this.version = fields.version;
    this.versionText = String(fields.version);
    this.executionSignature = fields.executionSignature;
    this.scheduler = fields.scheduler;
    this.statistics = fields.statistics;
    this.loadDurationNs = fields.loadDurationNs;
    this.#config = fields.config;
    this.#health = fields.health;
    this.#resources = fields.resources;
    this.#validator = new RequestValidator(this, fields.config, fields.executionSignature);
  }

  get config(): ModelConfig {
    return this.#config;
  }

  get isHealthy(): boolean {
    return this.#health.isHealthy;
  }

  get isStale(): boolean {
    return this.#health.isStale === true;
  }

  async checkReady(): Promise<boolean> {
    return this.isHealthy && ((await this.#health.checkReady?.()) ?? true);
  }

  submit(request: InferenceRequest): void {
    const { signature } = request;
    let validated = signature.validated;
    if (validated === undefined || validated.model !== this) {
      validated = this.#validator.validate(signature, request.id);
      signature.validated = validated;
    }
    checkInputBytes(request, validated, this.name);
    request.validated = validated;
    this.scheduler.enqueue(request);
  }

  /**
   * Shows another configuration, which must differ from the present one only in what the running instances do not
   * depend on: the version policy.
   */
  showConfig(config: ModelConfig): void {
    this.#config = config;
  }

  hold(): () => void {
    this.#holdCount += 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#holdCount -= 1;
      isHeld = false;
      if (this.#end !== undefined && this.#holdCount === 0) this.#released.resolve();
    };
  }

  dispose(): Promise<void> {
    this.#end ??= this.#dispose();
    return this.#end;
  }

  async #dispose(): Promise<void> {
    if (this.#holdCount > 0) await this.#released.promise;
    await this.#resources.disposeAsync();
  }
}
