import { Elysia } from "elysia";
import { InferenceError } from "../../base/error.ts";
import { HTTP_STATUS } from "../status.ts";
import { configEndpoints } from "./config.ts";
import type { Endpoint, Handler } from "./endpoint.ts";
import { generateEndpoints } from "./generate.ts";
import { healthEndpoints } from "./health.ts";
import type { HttpContext } from "./http-context.ts";
import { HttpRefusal } from "./http-refusal.ts";
import { inferEndpoints } from "./infer.ts";
import { errorResponse, responseOfError } from "./json-response.ts";
import { loggingEndpoints } from "./logging.ts";
import { metadataEndpoints } from "./metadata.ts";
import { repositoryEndpoints } from "./repository.ts";
import { refusalOf } from "./restricted-apis.ts";
import { mountRpc } from "./rpc-mount.ts";
import { sharedMemoryEndpoints } from "./shared-memory.ts";
import { statisticsEndpoints } from "./statistics.ts";
import { traceEndpoints } from "./trace.ts";

/** Bodies are read by the handlers themselves, under their own limits. */
const UNPARSED = { parse: "none" } as const;

function allEndpoints(context: HttpContext): Endpoint[] {
  return [
    ...healthEndpoints(context),
    ...metadataEndpoints(context),
    ...configEndpoints(context),
    ...inferEndpoints(context),
    ...generateEndpoints(context),
    ...repositoryEndpoints(context),
    ...statisticsEndpoints(context),
    ...loggingEndpoints(context),
    ...traceEndpoints(context),
    ...sharedMemoryEndpoints(),
  ];
}

/**
 * What an exception becomes. Bugs of ours answer 500 and are logged with their stack; the client learns no more than
 * that.
 */
function responseOfThrown(context: HttpContext, thrown: unknown, request: Request): Response {
  if (thrown instanceof InferenceError) return responseOfError(thrown);
  if (thrown instanceof HttpRefusal) return thrown.response;
  context.logger.error("unexpected error while answering an HTTP request", {
    method: request.method,
    url: request.url,
    error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
  });
  return errorResponse(HTTP_STATUS.internal, "internal error");
}

/** The REST interface as an Elysia app, not yet listening. */
export function createHttpApp(context: HttpContext): Elysia {
  const app = new Elysia({ strictPath: true });
  // Elysia's hooks only reach routes registered after them.
  app.onError(({ error, code, request }) =>
    code === "NOT_FOUND" && !(error instanceof InferenceError)
      ? errorResponse(HTTP_STATUS.notFound, "Not Found")
      : responseOfThrown(context, error, request),
  );
  for (const endpoint of allEndpoints(context)) register(app, context, endpoint);
  if (context.rpcHandler) mountRpc(app, context, context.rpcHandler);
  return app;
}

function register(app: Elysia, context: HttpContext, endpoint: Endpoint): void {
  const refuse = () => errorResponse(HTTP_STATUS.methodNotAllowed, "Method Not Allowed");
  const get = endpoint.get && guarded(context, endpoint, endpoint.get);
  const post = endpoint.post && guarded(context, endpoint, endpoint.post);
  for (const path of endpoint.paths) {
    if (get) {
      app.get(path, ({ request, params, server }) => get(request, params ?? {}, server), UNPARSED);
    }
    if (post) {
      app.post(
        path,
        ({ request, params, server }) => post(request, params ?? {}, server),
        UNPARSED,
      );
    }
    // Elysia would answer HEAD by GET; Triton refuses it.
    app.head(path, refuse, UNPARSED);
    app.all(path, refuse, UNPARSED);
  }
}

/** The handler behind the check of its group's key, where the group is restricted. */
function guarded({ restrictedApis }: HttpContext, { api }: Endpoint, handler: Handler): Handler {
  if (!restrictedApis.has(api)) return handler;
  return (request, params, server) =>
    refusalOf(restrictedApis, api, request) ?? handler(request, params, server);
}
