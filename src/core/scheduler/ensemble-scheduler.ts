import type { InferenceRequest } from "../request/inference-request.ts";
import type { ValidatedSignature } from "../request/request-signature.ts";
import { type EnsembleRoute, ensembleRoute } from "./ensemble-plan.ts";
import { type EnsembleOptions, EnsembleRun } from "./ensemble-run.ts";
import type { Scheduler } from "./scheduler.ts";
import { StepSignatures } from "./step-signatures.ts";
import { stoppingError } from "./stopping-error.ts";

/** Sends requests through the steps of an ensemble. It has no queue of its own: the steps' models have theirs. */
export class EnsembleScheduler implements Scheduler {
  readonly pendingCount = 0;
  /** There where a step has sequences: the ensemble's clients have to be able to end theirs. */
  readonly finishSequences?: () => Promise<void>;
  readonly #options: EnsembleOptions;
  readonly #signatures = new StepSignatures();
  /** What has to run depends on the outputs asked for, which are the same for all requests of a signature. */
  readonly #routes = new WeakMap<ValidatedSignature, EnsembleRoute>();
  readonly #wholeRoute: EnsembleRoute;
  readonly #onEnded = (): void => {
    this.#inflightCount -= 1;
    if (this.#inflightCount === 0) this.#stopped?.resolve();
  };
  #inflightCount = 0;
  #stopped: PromiseWithResolvers<void> | undefined;

  constructor(options: EnsembleOptions) {
    this.#options = options;
    if (options.finishSequences !== undefined) this.finishSequences = options.finishSequences;
    this.#wholeRoute = ensembleRoute(options.plan, undefined);
  }

  get inflightCount(): number {
    return this.#inflightCount;
  }

  enqueue(request: InferenceRequest): void {
    if (this.#stopped !== undefined) throw stoppingError();
    const nowNs = this.#options.clock.nowNs();
    request.queueStartNs = nowNs;
    request.computeStartNs = nowNs;
    this.#inflightCount += 1;
    const route = this.#routeFor(request.validated);
    new EnsembleRun(this.#options, route, this.#signatures, request, this.#onEnded).start();
  }

  stop(): Promise<void> {
    if (this.#stopped === undefined) {
      this.#stopped = Promise.withResolvers<void>();
      if (this.#inflightCount === 0) this.#stopped.resolve();
    }
    return this.#stopped.promise;
  }

  #routeFor(validated: ValidatedSignature | undefined): EnsembleRoute {
    if (validated?.outputIndexes === undefined) return this.#wholeRoute;
    const known = this.#routes.get(validated);
    if (known !== undefined) return known;
    const route = ensembleRoute(this.#options.plan, validated.outputIndexes);
    this.#routes.set(validated, route);
    return route;
  }
}
