import { InferenceError } from "../../base/error.ts";
import type { Model } from "../../core/model/model.ts";
import { InferenceRequest } from "../../core/request/inference-request.ts";
import type { GenerateRequest } from "./codec/generate-request.ts";
import { readGenerateRequest } from "./codec/generate-request.ts";
import { JsonReader } from "./codec/json-reader.ts";
import type { Endpoint, HttpServer, PathParams } from "./endpoint.ts";
import { modelOf, modelPaths } from "./endpoint.ts";
import { GenerateSink } from "./generate-sink.ts";
import { GenerateStreamSink } from "./generate-stream-sink.ts";
import type { HttpContext } from "./http-context.ts";
import { OpenRequest } from "./open-requests.ts";

/** One JSON in; one JSON, or a stream of server-sent events, out. */
export function generateEndpoints(context: HttpContext): Endpoint[] {
  const { openRequests } = context;
  return [
    {
      paths: modelPaths("/generate"),
      api: "inference",
      post: async (request, params, server) => {
        const generation = await read(context, request, params);
        const sink = new GenerateSink();
        const open = start(context, generation, sink, server);
        const response = await sink.response;
        openRequests.remove(open);
        return response;
      },
    },
    {
      paths: modelPaths("/generate_stream"),
      api: "inference",
      post: async (request, params, server) => {
        const generation = await read(context, request, params);
        const sink = new GenerateStreamSink();
        const open = start(context, generation, sink, server);
        sink.onEnd = () => openRequests.remove(open);
        return sink.response;
      },
    },
  ];
}

interface Generation {
  readonly http: Request;
  readonly model: Model;
  readonly generate: GenerateRequest;
  readonly arrivalNs: number;
}

async function read(
  context: HttpContext,
  request: Request,
  params: PathParams,
): Promise<Generation> {
  const arrivalNs = context.clock.nowNs();
  const { name, version } = modelOf(params);
  // Refuses before the body is read: an unknown model is 404 whatever the body holds.
  context.dataPlane.model(name, version);
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding !== "" && encoding !== "identity") {
    throw new InferenceError(
      "INVALID_ARG",
      "Unsupported content-encoding, only 'identity' is supported.",
    );
  }
  const body = await context.bodies.readJson(request);
  // Looked up again, for the model may have been replaced by a newer one while the body came in.
  const model = context.dataPlane.model(name, version);
  const generate = readGenerateRequest(new JsonReader(body), model);
  return { http: request, model, generate, arrivalNs };
}

/** Hands the request to the core, which ends it later, and has its connection watched until then. */
function start(
  context: HttpContext,
  { http, model, generate, arrivalNs }: Generation,
  sink: GenerateSink | GenerateStreamSink,
  server: HttpServer,
): OpenRequest {
  const request = new InferenceRequest({
    signature: generate.signature,
    id: generate.id,
    inputBytes: generate.inputBytes,
    sink,
    arrivalNs,
  });
  sink.request = request;
  context.dataPlane.infer(model, request);
  const open = new OpenRequest(http, request, server);
  context.openRequests.add(open);
  return open;
}
