import { InferenceError } from "../../base/error.ts";
import type { Endpoint, Handler } from "./endpoint.ts";
import { jsonResponse } from "./json-response.ts";

const refuse: Handler = () => {
  throw new InferenceError(
    "UNSUPPORTED",
    "this server does not support shared memory regions of clients; send tensors in the request",
  );
};

/** Status of the regions (there are none) and the refusal to register any, for one kind of memory. */
function endpointsOf(kind: "system" | "cuda"): Endpoint[] {
  const root = `/v2/${kind}sharedmemory`;
  const api = "shared-memory";
  return [
    { paths: [`${root}/status`], api, get: () => jsonResponse([]) },
    {
      paths: [`${root}/region/:region/status`],
      api,
      get: (_request, params) => {
        throw new InferenceError(
          "NOT_FOUND",
          `Unable to find ${kind} shared memory region: '${params["region"]}'`,
        );
      },
    },
    {
      paths: [
        `${root}/region/:region/register`,
        `${root}/region/:region/unregister`,
        `${root}/unregister`,
      ],
      api,
      post: refuse,
    },
  ];
}

/** The shared-memory extensions, as far as a server without regions can answer them. */
export function sharedMemoryEndpoints(): Endpoint[] {
  return [...endpointsOf("system"), ...endpointsOf("cuda")];
}
