import { HTTP_STATUS, httpStatusOf } from "../status.ts";
import type { Endpoint } from "./endpoint.ts";
import { modelOf, modelPaths } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { emptyResponse, errorResponse } from "./json-response.ts";

function yesOrNo(isTrue: boolean): Response {
  return isTrue ? emptyResponse() : new Response(null, { status: HTTP_STATUS.badRequest });
}

/** Liveness and readiness of the server, readiness of a model. */
export function healthEndpoints(context: HttpContext): Endpoint[] {
  const { dataPlane } = context;
  const exiting = () => errorResponse(httpStatusOf("UNAVAILABLE"), "Server exiting");
  return [
    {
      paths: ["/v2/health/live"],
      api: "health",
      get: () => (context.isExiting ? exiting() : yesOrNo(dataPlane.isLive)),
    },
    {
      paths: ["/v2/health/ready"],
      api: "health",
      get: () => (context.isExiting ? exiting() : yesOrNo(dataPlane.isReady)),
    },
    {
      paths: modelPaths("/ready"),
      api: "health",
      get: async (_request, params) => {
        const { name, version } = modelOf(params);
        return (await dataPlane.isModelReady(name, version))
          ? emptyResponse()
          : errorResponse(HTTP_STATUS.badRequest, "Model version not ready");
      },
    },
  ];
}
