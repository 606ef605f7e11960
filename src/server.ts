import type { Clock } from "./base/clock.ts";
import { InferenceError, inferenceErrorFrom } from "./base/error.ts";
import type { LogTable } from "./base/log-record.ts";
import type { ServerLog } from "./base/server-log.ts";
import type { IndexEntry } from "./core/control-plane.ts";

/** A port that is open. */
export interface Frontend {
  readonly address: string;
  /** The one it got, also where 0 was asked for. */
  readonly port: number;
  /** Told at the beginning of the shutdown, before requests are refused. */
  beginExit?(): void;
  /** Takes no more connections; resolves when every request in hand is answered. Idempotent. */
  stop(): Promise<void>;
}

/** A port to open once the models are loaded. */
export interface FrontendPlan {
  /** The word in `Started <service> at <address>:<port>`, which scripts look for. */
  readonly service: "GRPCInferenceService" | "HTTPService" | "Metrics Service";
  /** The word in the ready line. */
  readonly label: string;
  readonly address: string;
  readonly port: number;
  open(): Promise<Frontend>;
}

/** What a server needs of its models. */
export interface ServedModels {
  /** Loads what has to be there at the start. @returns what did not load. */
  start(): Promise<readonly { readonly modelName: string; readonly error: InferenceError }[]>;
  /** Refuses new requests, answers those under way, unloads. @returns versions that are still there. */
  stop(timeoutNs: number): Promise<number>;
  index(onlyReady: boolean): readonly IndexEntry[];
  /** Requests accepted and not ended. */
  readonly inflightCount: number;
}

/** What a {@link Server} is made of; it owns none of it until it has started it. */
export interface ServerParts {
  readonly models: ServedModels;
  /**
   * Makes the ports ready to open, while models load: that is work for hosts elsewhere, this for the main thread.
   * They open in the order given and close in reverse.
   */
  readonly preparePorts: () => Promise<readonly FrontendPlan[]>;
  /** Frees what models ran on. Called last, and only when all models are gone. */
  readonly disposeHosts: () => Promise<void>;
  readonly log: ServerLog;
  readonly clock: Clock;
  /** Whether a model that does not load at the start ends the server. */
  readonly exitOnError: boolean;
  readonly exitTimeoutSeconds: number;
}

/** Answers that are on their way out get at least this long, whatever is left of the exit timeout. */
const MIN_CLOSE_NS = 1e9;
const NS_PER_SECOND = 1e9;

/** The order in which the parts of a server come up and go down: models, then ports; back in reverse. */
export class Server {
  readonly #parts: ServerParts;
  readonly #open: Frontend[] = [];
  #stopping: Promise<number> | undefined;

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /**
   * Loads the models, opens the ports, says so.
   *
   * @throws InferenceError when a model fails under `--exit-on-error`, a repository is not there, or a port cannot be
   *   opened. What was started by then goes with {@link stop}.
   */
  async start(): Promise<void> {
    const { models, log, exitOnError, preparePorts } = this.#parts;
    const [failures, frontends] = await Promise.all([models.start(), preparePorts()]);
    if (this.#stopping !== undefined) return;
    log.table("", modelTable(models.index(false), failures));
    if (failures.length > 0 && exitOnError) {
      throw new InferenceError("INTERNAL", "failed to load all models");
    }
    const places: string[] = [];
    for (const plan of frontends) {
      const frontend = await openPort(plan);
      this.#open.push(frontend);
      const place = placeText(frontend);
      log.info(`Started ${plan.service} at ${place}`);
      places.push(`${plan.label} ${place}`);
      if (this.#stopping !== undefined) return;
    }
    // The port that opened last is the one that people look for first.
    log.info(`ready: ${places.toReversed().join(", ")}`);
  }

  /**
   * Drains and frees everything. A second call waits for the first.
   * @returns the exit status: 0, or 1 when requests were still running at the end of `--exit-timeout-secs`.
   */
  stop(): Promise<number> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<number> {
    const { models, log, clock, exitTimeoutSeconds, disposeHosts } = this.#parts;
    const deadlineNs = clock.nowNs() + exitTimeoutSeconds * NS_PER_SECOND;
    for (const frontend of this.#open) frontend.beginExit?.();
    const leftCount = await models.stop(exitTimeoutSeconds * NS_PER_SECOND);
    const { inflightCount } = models;
    if (inflightCount > 0) {
      log.error("Exit timeout expired. Exiting immediately.", { requests: inflightCount });
      return 1;
    }
    const closing = Promise.all(this.#open.toReversed().map((frontend) => frontend.stop()));
    const closeNs = Math.max(MIN_CLOSE_NS, deadlineNs - clock.nowNs());
    if (!(await isOverWithin(clock, closeNs, closing))) {
      log.warning("connections were still busy at the end of the exit timeout");
    }
    if (leftCount === 0) await disposeHosts();
    log.info("the server has stopped");
    return 0;
  }
}

/** `address:port`, an IPv6 address in brackets. */
function placeText({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}

/** Triton's table of models: those on disk that were never loaded are left out. */
export function modelTable(
  index: readonly IndexEntry[],
  failures: readonly { readonly modelName: string; readonly error: InferenceError }[],
): LogTable {
  const rows = index
    .filter(({ state }) => state !== undefined)
    .map(({ name, version, state, reason }) => [
      name,
      version ?? "",
      reason ? `${state}: ${reason}` : (state ?? ""),
    ]);
  for (const { modelName, error } of failures) {
    if (rows.some(([name]) => name === modelName)) continue;
    rows.push([modelName, "", `UNAVAILABLE: ${error.statusText.trimEnd()}`]);
  }
  return { columns: ["Model", "Version", "Status"], rows };
}

async function openPort(plan: FrontendPlan): Promise<Frontend> {
  try {
    return await plan.open();
  } catch (thrown) {
    if (!isAddressInUse(thrown)) throw inferenceErrorFrom(thrown);
    // Triton's text; scripts wait for it.
    const text = `Socket '${placeText(plan)}' already in use `;
    throw new InferenceError("UNAVAILABLE", text, { cause: thrown });
  }
}

/** Whether an error, or what caused it, is the system's EADDRINUSE. */
function isAddressInUse(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ("code" in thrown && thrown.code === "EADDRINUSE") return true;
  return isAddressInUse(thrown.cause);
}

/** False when a promise is still open after a while; no timer stays behind. */
async function isOverWithin(
  clock: Clock,
  delayNs: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  const timer = Promise.withResolvers<boolean>();
  const cancel = clock.after(delayNs, () => timer.resolve(false));
  try {
    return await Promise.race([promise.then(() => true), timer.promise]);
  } finally {
    cancel();
  }
}
