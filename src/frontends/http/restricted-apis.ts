import type { ApiName, RestrictedApis } from "../rpc-apis.ts";
import { HTTP_STATUS } from "../status.ts";
import { errorResponse } from "./json-response.ts";

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
