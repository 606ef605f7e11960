import { InferenceError } from "../../base/error.ts";
import type { LoadOverrides } from "../../core/control-plane.ts";
import { expectKind, readBooleanMember, readStringMember } from "./codec/json-members.ts";
import { JsonReader } from "./codec/json-reader.ts";
import type { Endpoint, Handler } from "./endpoint.ts";
import { modelOf } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { emptyResponse, jsonResponse } from "./json-response.ts";

const FILE_PREFIX = "file:";

/** Reads a body that is empty or an object whose members `onMember` consumes. */
function readOptionalObject(body: Uint8Array, onMember: (reader: JsonReader, key: string) => void) {
  if (body.byteLength === 0) return;
  const reader = new JsonReader(body);
  expectKind(reader, "object", "request");
  reader.object((key) => onMember(reader, key));
  reader.finish();
}

/** `{"ready": bool}`, all optional. @throws InferenceError INVALID_ARG. */
export function readIndexRequest(body: Uint8Array): boolean {
  let onlyReady = false;
  readOptionalObject(body, (reader, key) => {
    if (key === "ready") onlyReady = readBooleanMember(reader, key);
    else reader.skip();
  });
  return onlyReady;
}

/**
 * `{"parameters": {"config": "<JSON>", "file:<path>": "<base64>"}}`, all optional.
 *
 * @throws InferenceError INVALID_ARG naming the parameter.
 * @see reference: Triton docs, "Model Repository Extension".
 */
export function readLoadRequest(body: Uint8Array): LoadOverrides {
  let configJson: string | undefined;
  const files = new Map<string, Uint8Array>();
  readOptionalObject(body, (reader, key) => {
    if (key !== "parameters") {
      reader.skip();
      return;
    }
    expectKind(reader, "object", key);
    reader.object((name) => {
      if (name === "config") configJson = readStringMember(reader, name);
      else if (name.startsWith(FILE_PREFIX)) {
        const content = readStringMember(reader, name);
        files.set(name.slice(FILE_PREFIX.length), bytesFromBase64(name, content));
      } else {
        throw new InferenceError("INVALID_ARG", `unrecognized load parameter '${name}'.`);
      }
    });
  });
  return {
    ...(configJson === undefined ? {} : { configJson }),
    ...(files.size === 0 ? {} : { files }),
  };
}

function bytesFromBase64(name: string, text: string): Uint8Array {
  const bytes = Buffer.from(text, "base64");
  const unpadded = text.replace(/=+$/, "");
  // The decoder passes over what it does not know, so the length tells whether all of it was understood.
  if (Math.floor((unpadded.length * 3) / 4) !== bytes.byteLength) {
    throw new InferenceError("INVALID_ARG", `load parameter '${name}' is not valid base64`);
  }
  return new Uint8Array(bytes);
}

/** `{"parameters": {"unload_dependents": bool}}`, all optional. @throws InferenceError INVALID_ARG. */
export function readUnloadRequest(body: Uint8Array): boolean {
  let unloadDependents = false;
  readOptionalObject(body, (reader, key) => {
    if (key !== "parameters") {
      reader.skip();
      return;
    }
    expectKind(reader, "object", key);
    reader.object((name) => {
      if (name === "unload_dependents") unloadDependents = readBooleanMember(reader, name);
      else {
        throw new InferenceError("INVALID_ARG", `unrecognized unload parameter '${name}'.`);
      }
    });
  });
  return unloadDependents;
}

const refuseRepositoryName: Handler = () => {
  throw new InferenceError("UNSUPPORTED", "'repository_name' specification is not supported");
};

/** Index of the repository; loading and unloading by name. */
export function repositoryEndpoints(context: HttpContext): Endpoint[] {
  const { controlPlane, bodies } = context;
  const index: Handler = async (request) =>
    jsonResponse(controlPlane.index(readIndexRequest(await bodies.readJson(request))));
  const load: Handler = async (request, params) => {
    const overrides = readLoadRequest(await bodies.readJson(request));
    await controlPlane.loadModel(modelOf(params).name, overrides);
    return emptyResponse();
  };
  const unload: Handler = async (request, params) => {
    const unloadDependents = readUnloadRequest(await bodies.readJson(request));
    await controlPlane.unloadModel(modelOf(params).name, unloadDependents);
    return emptyResponse();
  };
  const api = "model-repository";
  return [
    { paths: ["/v2/repository/index", "/v2/repository/:repository/index"], api, post: index },
    { paths: ["/v2/repository/models/:model_name/load"], api, post: load },
    { paths: ["/v2/repository/models/:model_name/unload"], api, post: unload },
    {
      paths: [
        "/v2/repository/:repository/models/:model_name/load",
        "/v2/repository/:repository/models/:model_name/unload",
      ],
      api,
      post: refuseRepositoryName,
    },
  ];
}
