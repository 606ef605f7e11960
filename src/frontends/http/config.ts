import type { Endpoint } from "./endpoint.ts";
import { modelOf, modelPaths } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { jsonTextResponse } from "./json-response.ts";

/** The completed configuration of a model, in the proto's own field names. */
export function configEndpoints(context: HttpContext): Endpoint[] {
  return [
    {
      paths: modelPaths("/config"),
      api: "model-config",
      get: (_request, params) => {
        const { name, version } = modelOf(params);
        return jsonTextResponse(context.formatConfig(context.dataPlane.model(name, version)));
      },
    },
  ];
}
