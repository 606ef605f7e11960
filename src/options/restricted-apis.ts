import { OptionError } from "./option.ts";
import { parseKeyValue } from "./setting.ts";

/** What `--http-restricted-api` and `--grpc-restricted-protocol` can close. */
export const API_NAMES = [
  "health",
  "metadata",
  "inference",
  "shared-memory",
  "model-config",
  "model-repository",
  "statistics",
  "trace",
  "logging",
] as const;

/** One of {@link API_NAMES}. */
export type ApiName = (typeof API_NAMES)[number];

/** A header (HTTP) or metadata key (gRPC), and the value that opens the api. */
export interface ApiKey {
  readonly key: string;
  readonly value: string;
}

/** Apis that answer only to requests with their key. */
export type RestrictedApis = ReadonlyMap<ApiName, ApiKey>;

/** One occurrence of the flag: some apis under one key. */
export interface RestrictedGroup extends ApiKey {
  readonly apis: readonly ApiName[];
}

function apiNameFrom(text: string, name: string): ApiName {
  const api = API_NAMES.find((candidate) => candidate === text);
  if (api === undefined) {
    throw new OptionError(
      `--${name}: unknown restricted api '${text}' (allowed are ${API_NAMES.join(", ")})`,
    );
  }
  return api;
}

/** `<api>[,<api>…]:<key>=<value>`. @throws OptionError */
export function parseRestrictedGroup(text: string, name: string): RestrictedGroup {
  const colon = text.indexOf(":");
  if (colon <= 0) {
    throw new OptionError(`--${name} option format is <apis>:<key>=<value>. Got ${text}`);
  }
  const apis = text
    .slice(0, colon)
    .split(",")
    .map((api) => apiNameFrom(api, name));
  const { key, value } = parseKeyValue(text.slice(colon + 1), name);
  return { apis, key, value };
}

/**
 * Joins all occurrences of the flag.
 * @param keyPrefix what stands before every key on the wire, `triton-grpc-protocol-` for gRPC.
 * @throws OptionError where an api stands in two groups.
 */
export function restrictedApisFrom(
  groups: readonly RestrictedGroup[],
  name: string,
  keyPrefix = "",
): RestrictedApis {
  const restricted = new Map<ApiName, ApiKey>();
  for (const { apis, key, value } of groups) {
    for (const api of apis) {
      if (restricted.has(api)) {
        throw new OptionError(
          `--${name}: restricted api '${api}' can not be specified in multiple config groups`,
        );
      }
      restricted.set(api, { key: keyPrefix + key, value });
    }
  }
  return restricted;
}
