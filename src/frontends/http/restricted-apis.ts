import { HTTP_STATUS } from "../status.ts";
import { errorResponse } from "./json-response.ts";

/** Groups of endpoints that `--http-restricted-api` can close. */
export type ApiName =
  | "health"
  | "metadata"
  | "inference"
  | "shared-memory"
  | "model-config"
  | "model-repository"
  | "statistics"
  | "trace"
  | "logging";

/** For each closed group the header, and the value it must have. */
export type RestrictedApis = ReadonlyMap<ApiName, { readonly key: string; readonly value: string }>;

/** The answer to a request that lacks its key; undefined when it may pass. */
export function refusalOf(
  restricted: RestrictedApis,
  api: ApiName,
  request: Request,
): Response | undefined {
  const needed = restricted.get(api);
  if (!needed || request.headers.get(needed.key) === needed.value) return undefined;
  const text = `This API is restricted, expecting header '${needed.key}'`;
  return errorResponse(HTTP_STATUS.forbidden, text);
}
