import { BACKEND_ROWS, RATE_LIMITER_ROWS } from "./backend-rows.ts";
import { DEPRECATED_ROWS } from "./deprecated-rows.ts";
import { CLOUD_ROWS, DEVICE_ROWS, SHARED_MEMORY_ROWS } from "./device-rows.ts";
import { GRPC_ROWS, HTTP_ROWS } from "./frontend-rows.ts";
import { METRICS_ROWS, TRACING_ROWS } from "./observation-rows.ts";
import type { Option, OptionGroup, OptionValue } from "./option.ts";
import { GENERAL_ROWS, LOGGING_ROWS, REPOSITORY_ROWS } from "./server-rows.ts";

/** Every flag of `tribune serve`, by its name without dashes. */
export const OPTION_TABLE = {
  ...GENERAL_ROWS,
  ...LOGGING_ROWS,
  ...REPOSITORY_ROWS,
  ...HTTP_ROWS,
  ...GRPC_ROWS,
  ...METRICS_ROWS,
  ...TRACING_ROWS,
  ...BACKEND_ROWS,
  ...RATE_LIMITER_ROWS,
  ...DEVICE_ROWS,
  ...SHARED_MEMORY_ROWS,
  ...CLOUD_ROWS,
  ...DEPRECATED_ROWS,
};

/** Name of a flag, without dashes. */
export type OptionName = keyof typeof OPTION_TABLE;

/** The values of all flags, defaults where nothing was given. */
export type OptionValues = {
  readonly [Name in OptionName]: OptionValue<(typeof OPTION_TABLE)[Name]>;
};

/** The rows under each heading, in the order of the help. */
export const OPTIONS_BY_GROUP: Readonly<
  Record<OptionGroup, Readonly<Record<string, Option<unknown>>>>
> = {
  General: GENERAL_ROWS,
  Logging: LOGGING_ROWS,
  "Model repository": REPOSITORY_ROWS,
  HTTP: HTTP_ROWS,
  gRPC: GRPC_ROWS,
  Metrics: METRICS_ROWS,
  Tracing: TRACING_ROWS,
  "Backends, agents and caches": BACKEND_ROWS,
  "Rate limiter": RATE_LIMITER_ROWS,
  "Memory and devices": DEVICE_ROWS,
  "Shared memory": SHARED_MEMORY_ROWS,
  "SageMaker and Vertex AI": CLOUD_ROWS,
  Deprecated: DEPRECATED_ROWS,
};

/** Whether a text is the full name of a flag. */
export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTION_TABLE, name);
}

/** Names of all flags, in the order of the table. */
export const OPTION_NAMES: readonly OptionName[] = Object.keys(OPTION_TABLE).filter(isOptionName);
