import type { Elysia } from "elysia";
import { RPC_APIS } from "../rpc-apis.ts";
import { HTTP_STATUS } from "../status.ts";
import type { HttpContext, RpcHandler } from "./http-context.ts";
import { refusalOf } from "./restricted-apis.ts";

/** Paths of the services that browsers may call: gRPC-web, or Connect's own protocol. */
const RPC_PATHS: readonly string[] = [
  "/inference.GRPCInferenceService/*",
  "/grpc.health.v1.Health/*",
];

/** Request headers of Connect and gRPC-web clients, beside what a browser allows anyway. */
const ALLOWED_HEADERS =
  "content-type, connect-protocol-version, connect-timeout-ms, connect-accept-encoding, " +
  "connect-content-encoding, grpc-timeout, x-grpc-web, x-user-agent";
/** Response headers that such clients read. */
const EXPOSED_HEADERS =
  "grpc-status, grpc-message, grpc-status-details-bin, connect-content-encoding";
/** Two hours: the longest that Chromium keeps the answer to a preflight. */
const PREFLIGHT_MAX_AGE_SECONDS = "7200";

/** Mounts the rpc handler, with the cross-origin rules that let pages call it. */
export function mountRpc(app: Elysia, context: HttpContext, handler: RpcHandler): void {
  const answer = async (request: Request): Promise<Response> => {
    const origin = request.headers.get("origin");
    const isAllowed = origin !== null && isAllowedOrigin(context.corsOrigins, origin);
    if (request.method === "OPTIONS") return preflight(request, isAllowed ? origin : undefined);
    const response = refusal(context, request) ?? (await handler(request));
    if (isAllowed) {
      response.headers.set("access-control-allow-origin", origin);
      response.headers.set("access-control-expose-headers", EXPOSED_HEADERS);
    }
    if (origin !== null) response.headers.append("vary", "Origin");
    return response;
  };
  for (const path of RPC_PATHS) {
    app.all(path, ({ request }) => answer(request), { parse: "none" });
  }
}

function refusal(context: HttpContext, request: Request): Response | undefined {
  if (context.restrictedApis.size === 0) return undefined;
  const rpc = request.url.slice(request.url.lastIndexOf("/") + 1).split("?")[0] ?? "";
  // An unknown rpc is refused by the handler; until then it counts as what is worth most.
  return refusalOf(context.restrictedApis, RPC_APIS[rpc] ?? "inference", request);
}

function preflight(request: Request, origin: string | undefined): Response {
  const headers: Record<string, string> = { vary: "Origin" };
  if (origin !== undefined) {
    headers["access-control-allow-origin"] = origin;
    headers["access-control-allow-methods"] = "GET, POST";
    // Metadata of the caller's own travels as headers too, so what a page asks for is granted.
    headers["access-control-allow-headers"] =
      request.headers.get("access-control-request-headers") ?? ALLOWED_HEADERS;
    headers["access-control-max-age"] = PREFLIGHT_MAX_AGE_SECONDS;
  }
  return new Response(null, { status: HTTP_STATUS.noContent, headers });
}

/** Whether an entry without a port stands for the origin's scheme and host, or an entry for the whole of it. */
export function isAllowedOrigin(allowed: readonly string[], origin: string): boolean {
  if (allowed.includes("*") || allowed.includes(origin)) return true;
  const withoutPort = origin.replace(/:\d+$/, "");
  return withoutPort !== origin && allowed.includes(withoutPort);
}
