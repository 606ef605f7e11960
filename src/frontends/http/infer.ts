import { InferenceError } from "../../base/error.ts";
import type { Model } from "../../core/model/model.ts";
import { InferenceRequest } from "../../core/request/inference-request.ts";
import { RequestSignature } from "../../core/request/request-signature.ts";
import { HEADER_LENGTH_NAME } from "./codec/infer-request.ts";
import type { DecodedRequest } from "./codec/request-plan.ts";
import { decompress, encodingFromAccept } from "./compression.ts";
import type { Endpoint, HttpServer, PathParams } from "./endpoint.ts";
import { modelOf, modelPaths } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { InferSink } from "./infer-sink.ts";
import { OpenRequest } from "./open-requests.ts";

/** One inference: bytes in, bytes out. */
export function inferEndpoints(context: HttpContext): Endpoint[] {
  return [
    {
      paths: modelPaths("/infer"),
      api: "inference",
      post: (request, params, server) => infer(context, request, params, server),
    },
  ];
}

async function infer(
  context: HttpContext,
  request: Request,
  params: PathParams,
  server: HttpServer,
): Promise<Response> {
  const arrivalNs = context.clock.nowNs();
  // Refuses before the body is read: an unknown model is 404 whatever the body holds.
  servedModel(context, params);
  const { headers } = request;
  const body = await context.bodies.read(request);
  try {
    const contentEncoding = headers.get("content-encoding");
    const bytes =
      contentEncoding === null
        ? body.bytes
        : await decompress(body.bytes, contentEncoding, context.bodies.limits.maxInputBytes);
    // Looked up again, for the model may have been replaced by a newer one while the body came in.
    const model = servedModel(context, params);
    const decoded = context.requestCodec.decode(model, bytes, headers.get(HEADER_LENGTH_NAME));
    const sink = new InferSink({
      plan: decoded.plan,
      codec: context.responseCodec,
      encoding: encodingFromAccept(headers.get("accept-encoding")),
    });
    const inference = new InferenceRequest({
      signature: signatureOf(context, decoded, headers),
      id: decoded.id,
      inputBytes: decoded.inputBytes,
      sink,
      arrivalNs,
    });
    context.dataPlane.infer(model, inference);
    const open = new OpenRequest(request, inference, server);
    context.openRequests.add(open);
    const response = await sink.response;
    context.openRequests.remove(open);
    return response;
  } finally {
    context.bodies.release(body.reservedBytes);
  }
}

/** @throws InferenceError as `DataPlane.model`; UNSUPPORTED for a decoupled model. */
function servedModel(context: HttpContext, params: PathParams): Model {
  const { name, version } = modelOf(params);
  const model = context.dataPlane.model(name, version);
  if (!model.config.isDecoupled) return model;
  throw new InferenceError(
    "UNSUPPORTED",
    "HTTP end point doesn't support models with decoupled transaction policy",
  );
}

/** The memoised signature, or one of this request's own when headers are forwarded into its parameters. */
function signatureOf(
  { headerForwarding }: HttpContext,
  { plan }: DecodedRequest,
  headers: Headers,
): RequestSignature {
  const { signature } = plan;
  if (!headerForwarding.isOn) return signature;
  const parameters = headerForwarding.addTo(signature.parameters, headers);
  return parameters === signature.parameters
    ? signature
    : new RequestSignature({ ...signature, parameters });
}
