import type { Server } from "bun";
import type { ApiName } from "../rpc-apis.ts";

/** Names in a path, percent-escapes decoded: `model_name`, `model_version` and the like. */
export type PathParams = Readonly<Record<string, string | undefined>>;

/** The listening server as handlers see it; null only while it stops. */
export type HttpServer = Server<unknown> | null;

/** Answers one request. Throws InferenceError for every refusal that has an ErrorCode. */
export type Handler = (
  request: Request,
  params: PathParams,
  server: HttpServer,
) => Response | Promise<Response>;

/** Some paths that mean the same, and what may be done there. All other methods are answered 405. */
export interface Endpoint {
  readonly paths: readonly string[];
  /** The group it belongs to for `--http-restricted-api`. */
  readonly api: ApiName;
  readonly get?: Handler;
  readonly post?: Handler;
}

/** `/v2/models/{m}…` and `/v2/models/{m}/versions/{v}…`. */
export function modelPaths(tail: string): readonly string[] {
  return [`/v2/models/:model_name${tail}`, `/v2/models/:model_name/versions/:model_version${tail}`];
}

/** Model name and version text of a path made by {@link modelPaths}; the version is "" where the path has none. */
export function modelOf(params: PathParams): { readonly name: string; readonly version: string } {
  return { name: params["model_name"] ?? "", version: params["model_version"] ?? "" };
}
