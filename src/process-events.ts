import { constants } from "node:os";
import type { Logger } from "./base/log.ts";

/** The part of `process` that is needed here; tests put an emitter in its place. */
export interface ProcessEvents {
  on(event: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  on(
    event: "uncaughtException" | "unhandledRejection",
    listener: (thrown: unknown) => void,
  ): unknown;
}

/** What happens on signals. */
export interface SignalPlan {
  readonly events: ProcessEvents;
  readonly logger: Logger;
  /** Drains; resolves with the exit status. */
  readonly stop: () => Promise<number>;
  readonly exit: (status: number) => void;
}

/** Exit status of a process that a signal ended, as shells have it. */
function statusOfSignal(signal: "SIGINT" | "SIGTERM"): number {
  return 128 + constants.signals[signal];
}

/** The first SIGINT or SIGTERM drains and exits, a second one exits at once. */
export function stopOnSignals({ events, logger, stop, exit }: SignalPlan): void {
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    events.on(signal, () => {
      if (isStopping) {
        logger.warning(`received ${signal} again, exiting at once`);
        exit(statusOfSignal(signal));
        return;
      }
      isStopping = true;
      logger.info(`received ${signal}, draining; a second signal exits at once`);
      stop().then(exit, (thrown: unknown) => {
        logger.error("the server could not be stopped in order", { error: String(thrown) });
        exit(1);
      });
    });
  }
}

/** A fault of ours that nobody caught is logged with its stack, and the server stays up. */
export function surviveUncaught(events: ProcessEvents, logger: Logger): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    events.on(event, (thrown) => {
      const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      logger.error("an exception was caught by nobody; the server goes on", { event, stack });
    });
  }
}
