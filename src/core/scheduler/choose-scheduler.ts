import { InferenceError } from "../../base/error.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";

/**
 * The scheduler that a configuration asks for: dynamic batching, or each request by itself.
 * @throws InferenceError UNSUPPORTED for a scheduling choice this server does not have.
 */
export function chooseScheduler(options: SchedulerOptions): Scheduler {
  throw new InferenceError(
    "UNSUPPORTED",
    `model '${options.config.name}' asks for a scheduler that this server does not have`,
  );
}
