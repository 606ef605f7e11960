import { type EnsembleRoute, type OutputGroup, ROOT } from "./ensemble-plan.ts";
import { EnsembleScope } from "./ensemble-scope.ts";

/** The scopes of one request that something may still happen in. */
export class EnsembleScopes {
  readonly root = new EnsembleScope(ROOT, undefined);
  readonly #route: EnsembleRoute;
  /** By origin, oldest first; scopes that are over leave, so that a long stream keeps few of them. */
  readonly #live = new Map<number, Set<EnsembleScope>>([[ROOT, new Set([this.root])]]);
  /** Scopes whose response has left. */
  readonly #answered = new WeakSet<EnsembleScope>();

  constructor(route: EnsembleRoute) {
    this.#route = route;
  }

  /** A scope for one answer of a decoupled step that runs in `parent`. */
  open(origin: number, parent: EnsembleScope): EnsembleScope {
    const scope = new EnsembleScope(origin, parent);
    parent.openCount += 1;
    const siblings = this.#live.get(origin);
    if (siblings === undefined) this.#live.set(origin, new Set([scope]));
    else siblings.add(scope);
    return scope;
  }

  /** Scopes of an origin in which a change of one scope can make a difference. */
  affected(origin: number, changed: EnsembleScope): readonly EnsembleScope[] {
    return origin === changed.origin ? [changed] : [...(this.#live.get(origin) ?? [])];
  }

  /** Scopes whose response has not left, oldest first. */
  unanswered({ origin }: OutputGroup): readonly EnsembleScope[] {
    return [...(this.#live.get(origin) ?? [])].filter((scope) => !this.#answered.has(scope));
  }

  markAnswered(scope: EnsembleScope): void {
    this.#answered.add(scope);
  }

  /** Forgets a scope in which nothing can happen any more. */
  closeIfOver(scope: EnsembleScope): void {
    const { parent, origin } = scope;
    if (parent === undefined || scope.openCount > 0 || !this.#haveAllBegun(scope)) return;
    const hasResponse = this.#route.groups.some((group) => group.origin === origin);
    if (hasResponse && !this.#answered.has(scope)) return;
    if (this.#live.get(origin)?.delete(scope) !== true) return;
    parent.openCount -= 1;
    this.closeIfOver(parent);
  }

  /** Whether all that could happen has: every step ran in every scope, and every response has left. */
  get areOver(): boolean {
    for (const [origin, scopes] of this.#live) if (origin !== ROOT && scopes.size > 0) return false;
    return this.#haveAllBegun(this.root);
  }

  #haveAllBegun({ origin, startedCount }: EnsembleScope): boolean {
    return startedCount === this.#route.steps.filter((step) => step.origin === origin).length;
  }
}
