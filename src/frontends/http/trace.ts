import { InferenceError } from "../../base/error.ts";
import { expectKind } from "./codec/json-members.ts";
import { JsonReader } from "./codec/json-reader.ts";
import type { Endpoint } from "./endpoint.ts";
import { modelOf } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { jsonResponse } from "./json-response.ts";

/** What Triton says while tracing is off; all values but the level are strings. */
const TRACE_OFF = {
  trace_level: ["OFF"],
  trace_rate: "1000",
  trace_count: "-1",
  log_frequency: "0",
  trace_file: "",
  trace_mode: "triton",
} as const;

/** Whether an update asks for anything. @throws InferenceError INVALID_ARG for malformed bodies. */
export function changesTraceSettings(body: Uint8Array): boolean {
  let hasChange = false;
  const reader = new JsonReader(body);
  expectKind(reader, "object", "request");
  reader.object((key) => {
    // Null puts a setting back to its default, which is where it stands.
    if (Object.hasOwn(TRACE_OFF, key) && reader.peek() !== "null") hasChange = true;
    reader.skip();
  });
  reader.finish();
  return hasChange;
}

/** The trace settings, readable; this server does not trace, so they cannot be changed. */
export function traceEndpoints({ dataPlane, bodies }: HttpContext): Endpoint[] {
  return [
    {
      paths: ["/v2/trace/setting", "/v2/models/:model_name/trace/setting"],
      api: "trace",
      get: (_request, params) => {
        checkModel(params["model_name"]);
        return jsonResponse(TRACE_OFF);
      },
      post: async (request, params) => {
        checkModel(params["model_name"]);
        if (changesTraceSettings(await bodies.readJson(request))) {
          throw new InferenceError("UNSUPPORTED", "this server does not support tracing");
        }
        return jsonResponse(TRACE_OFF);
      },
    },
  ];

  function checkModel(name: string | undefined): void {
    if (name !== undefined) dataPlane.model(modelOf({ model_name: name }).name, "");
  }
}
